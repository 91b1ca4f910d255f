"""Families with an encoder and a decoder."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.limits import MOST
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config
from keras_transformers.utils.number_checks import is_size


def transformer(
    vocabulary_size: int, num_layers: int = 6, num_heads: int = 8, hidden_dim: int = 512,
    intermediate_dim: int | None = None, max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe the original Transformer: a post-norm encoder and decoder with sinusoidal positions; base size by
    default.

    Encoder, decoder and output share one embedding, scaled by sqrt(hidden_dim) where tokens are looked up. Epsilon and
    initialisers, which the paper does not give, are fairseq's, but embeddings start within two standard deviations.
    With `position_layout="halves"` it is saved as a Marian checkpoint. Paper: Vaswani et al. 2017,
    https://arxiv.org/abs/1706.03762.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for `bert`;
            `num_decoder_layers` if the decoder has another number. The decoder begins with the padding token.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> transformer(37000).intermediate_dim
    2048
    """
    facts = {
        "activation": "relu", "initializer_range": None, "decoder_start_id": options.get("pad_id", 0),
    }  # fmt: skip
    if is_size(hidden_dim):  # if not, the configuration says so
        facts["embedding_initializer_range"] = min(int(hidden_dim), MOST) ** -0.5
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _sinusoidal("transformer", sizes, facts | options)


def marian(
    vocabulary_size: int, num_layers: int = 6, num_heads: int = 8, hidden_dim: int = 512,
    intermediate_dim: int | None = None, max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe Marian, as in OPUS-MT: a Transformer with sines before cosines, and a bias of the logits.

    The last token id of both sides is padding and the decoder's first token; the first token id ends a text. The
    initialisers are those of `transformers`. Paper: Junczys-Dowmunt et al. 2018, https://arxiv.org/abs/1804.00344.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for
            `transformer`; with `encoder_vocabulary_size` the stacks have vocabularies of their own.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> marian(58101).pad_id
    58100
    """
    pad_id = options.get("pad_id", min(vocabulary_size, options.get("encoder_vocabulary_size") or vocabulary_size) - 1)
    facts = {
        "activation": "silu", "position_layout": "halves", "output_bias": True,
        "initializer_range": 0.02, "pad_id": pad_id, "decoder_start_id": pad_id, "eos_ids": (0,),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _sinusoidal("marian", sizes, facts | options)


def _sinusoidal(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    shared = {
        "kind": "encoder_decoder", "dropout": 0.1, "attention_dropout": 0.0, "epsilon": 1e-5, "norm": "layer",
        "norm_order": "post", "positions": "sinusoidal", "scale_embeddings": True, "embedding_norm": False,
    }  # fmt: skip
    return named_config(family, sizes, shared | facts)


def t5(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 512, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe T5: pre-norm stacks with RMS norms, relative positions, and neither biases nor a scale of the scores.

    With `gated=True` it is version 1.1 (and Flan-T5): gated GELU, and a separate output matrix, where version 1.0 ties
    it to the token embedding and scales the hidden states. Initialisers and dropouts are those of the release code
    (google-research/text-to-text-transfer-transformer). Paper: Raffel et al. 2019, https://arxiv.org/abs/1910.10683.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for
            `transformer`. Positions are not bounded by `max_length`, but the texts of pre-training were.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> t5(32128, num_layers=12, num_heads=12, hidden_dim=768, intermediate_dim=2048, gated=True).tie_embeddings
    False
    """
    gated, rate = options.get("gated", False), options.get("dropout", 0.1)
    facts = {
        "kind": "encoder_decoder", "dropout": rate, "attention_dropout": rate, "activation_dropout": rate,
        "final_dropout": True, "activation": "gelu_tanh" if gated else "relu", "epsilon": 1e-6, "norm": "rms",
        "norm_order": "pre", "positions": "relative", "attention_scale": 1.0, "use_bias": False,
        "initializer_range": "fan_in", "embedding_initializer_range": 1.0, "tie_embeddings": not gated,
        "scale_outputs": options.get("tie_embeddings", not gated), "decoder_start_id": options.get("pad_id", 0),
        "eos_ids": (1,),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return named_config("t5", sizes, facts | options)


def bart(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 1024, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe BART: a post-norm encoder and decoder with learned positions and a norm after the embeddings.

    Dropouts are those of the release (fairseq). Paper: Lewis et al. 2019, https://arxiv.org/abs/1910.13461.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for
            `transformer`. The decoder begins with the token that ends a text.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> bart(50265, num_layers=6, num_heads=12, hidden_dim=768).decoder_start_id
    2
    """
    facts = {
        "norm_order": "post", "attention_dropout": 0.1, "activation_dropout": 0.1,
        "decoder_start_id": next(iter(options.get("eos_ids", (2,))), None),
    }  # fmt: skip
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bart("bart", sizes, facts | options)


def mbart(
    vocabulary_size: int, num_layers: int, num_heads: int, hidden_dim: int, intermediate_dim: int | None = None,
    max_length: int = 1024, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe mBART: BART with pre-norm stacks, and embeddings scaled by sqrt(hidden_dim).

    Paper: Liu et al. 2020, https://arxiv.org/abs/2001.08210.

    Args:
        vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length, **options: As for
            `transformer`. The decoder begins with the target language's token: `decoder_start_id`, if it is always one.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> mbart(250027, num_layers=12, num_heads=16, hidden_dim=1024).embedding_norm
    True
    """
    sizes = (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length)
    return _bart("mbart", sizes, {"norm_order": "pre", "attention_dropout": 0.0, "scale_embeddings": True} | options)


def _bart(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    shared = {
        "kind": "encoder_decoder", "dropout": 0.1, "activation": "gelu", "epsilon": 1e-5, "norm": "layer",
        "positions": "learned", "initializer_range": 0.02, "embedding_norm": True, "pad_id": 1, "bos_id": 0,
        "eos_ids": (2,),
    }  # fmt: skip
    return named_config(family, sizes, shared | facts)
