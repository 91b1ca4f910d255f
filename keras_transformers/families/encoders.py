"""Families of encoders."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.choices import PAD_ID, first_position
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.utils.number_checks import is_count


def bert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe BERT: a post-norm encoder with learned positions and two segments.

    Dropout, GELU (the exact one), the epsilon of 1e-12 and the truncated normal of 0.02 are those of the release code
    (google-research/bert). Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        vocabulary_size: Rows of the token embedding.
        num_layers: Encoder blocks.
        num_heads: Attention heads.
        hidden_dim: Width of the hidden states.
        intermediate_dim: Width of the feed-forward layers; `4 * hidden_dim` when None.
        max_length: Rows of the position embedding.
        **options: Any other field of `TransformerConfig`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> bert(30522, num_layers=12, num_heads=12, hidden_dim=768).intermediate_dim
    3072
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bert("bert", sizes, {"num_segments": 2, "epsilon": 1e-12} | options)


def roberta(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """RoBERTa: BERT with one segment, and positions that count the tokens that are not padding, from `pad_id + 1`.

    The epsilon of 1e-5 and the special ids are those of the released checkpoints (fairseq). A classifier's first layer,
    our pooler, has the dropout of its last one. Paper: Liu et al. 2019, https://arxiv.org/abs/1907.11692.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Longest sequence, in tokens; the position embedding has `pad_id + 1` rows more.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> roberta(50265, num_layers=12, num_heads=12, hidden_dim=768).position_offset
    2
    """
    pad_id, rate = options.get("pad_id", PAD_ID), options.get("classifier_dropout")
    facts = {
        "num_segments": 1, "epsilon": 1e-5, "pad_id": PAD_ID, "bos_id": 0, "eos_ids": (2,),
        "position_offset": first_position(int(pad_id) if is_count(pad_id) else 0),  # the configuration checks the id
        "pooler_dropout": options.get("dropout", 0.1) if rate is None else rate,
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bert("roberta", sizes, facts | options)


def _bert(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    shared = {
        "dropout": 0.1, "attention_dropout": 0.1, "activation": "gelu", "norm": "layer", "norm_order": "post",
        "positions": "learned", "initializer_range": 0.02,
    }  # fmt: skip
    return named_config(family, sizes, shared | facts)
