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


def xlm_roberta(*sizes: Any, **options: Any) -> TransformerConfig:
    """Describe XLM-RoBERTa: multilingual RoBERTa, whose checkpoints name other classes.

    Paper: Conneau et al. 2019, https://arxiv.org/abs/1911.02116.

    Args:
        *sizes, **options: As for `roberta`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> xlm_roberta(250_002, num_layers=12, num_heads=12, hidden_dim=768).family
    'xlm-roberta'
    """
    return roberta(*sizes, **options).replace(family="xlm-roberta")


def camembert(*sizes: Any, **options: Any) -> TransformerConfig:
    """Describe CamemBERT: RoBERTa for French, whose checkpoints name other classes.

    Paper: Martin et al. 2019, https://arxiv.org/abs/1911.03894.

    Args:
        *sizes, **options: As for `roberta`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> camembert(32_005, num_layers=12, num_heads=12, hidden_dim=768).position_offset
    2
    """
    return roberta(*sizes, **options).replace(family="camembert")


def distilbert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe DistilBERT: BERT without segments, whose classifier has ReLU and a dropout of its own.

    The epsilon is fixed in the code of `transformers`, which is the release code.
    Paper: Sanh et al. 2019, https://arxiv.org/abs/1910.01108.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> distilbert(30522, num_layers=6, num_heads=12, hidden_dim=768).pooler_activation
    'relu'
    """
    facts = {"epsilon": 1e-12, "pooler_activation": "relu", "classifier_dropout": 0.2}
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bert("distilbert", sizes, facts | options)


def mpnet(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe MPNet: RoBERTa without segments, with one table of T5's relative positions for all blocks besides.

    The epsilon of 1e-5 is that of the released checkpoint. Paper: Song et al. 2020, https://arxiv.org/abs/2004.09297.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Longest sequence, in tokens; the position embedding has two rows more.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> mpnet(30527, num_layers=12, num_heads=12, hidden_dim=768).positions
    ('learned', 'relative')
    """
    facts = {
        "positions": ("learned", "relative"), "position_offset": first_position(), "epsilon": 1e-5, "pad_id": PAD_ID,
        "bos_id": 0, "eos_ids": (2,), "pooler_dropout": options.get("dropout", 0.1),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bert("mpnet", sizes, facts | options)


def electra(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe ELECTRA: BERT, with narrower embeddings in the small model, and a classifier that has GELU.

    Paper: Clark et al. 2020, https://arxiv.org/abs/2003.10555.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`;
            `embedding_dim` is 128 in the small model and None in the others.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> electra(30522, num_layers=12, num_heads=4, hidden_dim=256, embedding_dim=128).pooler_activation
    'gelu'
    """
    rate = options.get("classifier_dropout")
    facts = {
        "num_segments": 2, "epsilon": 1e-12, "pooler_activation": "gelu",
        "pooler_dropout": options.get("dropout", 0.1) if rate is None else rate,
    }  # fmt: skip
    if options.get("embedding_dim") == hidden_dim:  # there is no projection then
        options |= {"embedding_dim": None}
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bert("electra", sizes, facts | options)


def albert(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe ALBERT: BERT with narrow embeddings, and one block's weights for all blocks.

    The second version, as released (google-research/albert): no dropout but the classifier's, and the tanh
    approximation of GELU. Paper: Lan et al. 2019, https://arxiv.org/abs/1909.11942.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> albert(30000, num_layers=12, num_heads=12, hidden_dim=768).embedding_dim
    128
    """
    facts = {
        "num_segments": 2, "epsilon": 1e-12, "embedding_dim": 128, "num_block_groups": 1, "dropout": 0.0,
        "attention_dropout": 0.0, "classifier_dropout": 0.1, "activation": "gelu_tanh", "bos_id": 2, "eos_ids": (3,),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bert("albert", sizes, facts | options)


def deberta_v2(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe DeBERTa-v3, and DeBERTa-v2 without convolution: BERT with disentangled attention.

    The defaults are those of the released checkpoints of DeBERTa-v3 (microsoft/DeBERTa), which have no segments. A
    classifier's first layer has GELU. Papers: He et al. 2020, https://arxiv.org/abs/2006.03654; version 3: He et al.
    2021, https://arxiv.org/abs/2111.09543.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, **options: As for `bert`.
        max_length: Tokens of a text, and the first distance that shares its vector with all longer ones; longer texts
            are possible.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> deberta_v2(128_100, num_layers=12, num_heads=12, hidden_dim=768).positions
    'disentangled'
    """
    facts = {"positions": "disentangled", "position_buckets": 256, "epsilon": 1e-7, "pooler_activation": "gelu"}
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bert("deberta-v2", sizes, facts | options)


def _bert(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    shared = {
        "dropout": 0.1, "attention_dropout": 0.1, "activation": "gelu", "norm": "layer", "norm_order": "post",
        "positions": "learned", "initializer_range": 0.02,
    }  # fmt: skip
    return named_config(family, sizes, shared | facts)
