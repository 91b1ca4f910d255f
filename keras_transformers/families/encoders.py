"""Families of encoders."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config


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
    facts = {
        "num_segments": 2, "dropout": 0.1, "attention_dropout": 0.1, "activation": "gelu", "epsilon": 1e-12,
        "norm": "layer", "norm_order": "post", "positions": "learned", "initializer_range": 0.02,
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return named_config("bert", sizes, facts | options)
