"""Families of baselines to compare Transformers with: recurrent and convolutional models."""

from __future__ import annotations

from typing import Any

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.families.sizes import named_config


def recurrent(
    vocabulary_size: int, num_layers: int, hidden_dim: int, intermediate_dim: int | None = None, max_length: int = 512,
    num_heads: int = 1, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe a recurrent model: a language model, an encoder, or an encoder and a decoder, with attention or without.

    LSTMs by default, with residual connections and pre-norm as in RNMT+ (Chen et al. 2018,
    https://arxiv.org/abs/1804.09849): without them deep stacks hardly train. No positions: the order is in the
    recurrence. Weights are Keras', Glorot uniform and orthogonal; embeddings start small: the output is tied to them.
    Papers: Sutskever et al. 2014, https://arxiv.org/abs/1409.3215; with attention, Bahdanau et al. 2014,
    https://arxiv.org/abs/1409.0473, and Luong et al. 2015, https://arxiv.org/abs/1508.04025.

    Args:
        vocabulary_size: Rows of the token embedding.
        num_layers: Blocks.
        hidden_dim: Width of embeddings and hidden states.
        intermediate_dim: Width of the states, both directions together; `hidden_dim` when None.
        max_length: Longest sequence, in tokens; the model itself has no bound.
        num_heads: Heads of the attention to an encoder.
        **options: Any other field of `TransformerConfig`: `kind` (a decoder when not given), `mixer`
            (`"simple_rnn"`, `"gru"` or `"lstm"`), `cross_attention`, ...

    Returns:
        A `TransformerConfig`.

    Example:

    >>> recurrent(4096, num_layers=2, hidden_dim=256).mixer
    'lstm'
    """
    facts = {"mixer": "lstm", "positions": None, "activation": "tanh", "embedding_initializer_range": 0.02}
    return _counterpart("recurrent", (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, max_length),
                        facts | options)  # fmt: skip


def convolutional(
    vocabulary_size: int, num_layers: int, hidden_dim: int, intermediate_dim: int | None = None, max_length: int = 512,
    num_heads: int = 1, **options: Any,
) -> TransformerConfig:  # fmt: skip
    """Describe a convolutional model: gated convolutions with residual connections and learned positions.

    Gates, positions and the embeddings' initialiser are those of Gehring et al. 2017, https://arxiv.org/abs/1705.03122.
    Norms take the place of their fixed scales. Other weights are Glorot uniform.

    Args:
        vocabulary_size, num_layers, hidden_dim, max_length, num_heads: As for `recurrent`.
        intermediate_dim: Channels of the convolutions; `hidden_dim` when None.
        **options: As for `recurrent`; `kind` is an encoder when not given. `kernel_size` is 3.

    Returns:
        A `TransformerConfig`.

    Example:

    >>> convolutional(8192, num_layers=4, hidden_dim=256).kind
    'encoder'
    """
    facts = {
        "kind": "encoder", "mixer": "convolution", "positions": "learned", "activation": "sigmoid", "gated": True,
        "embedding_initializer_range": 0.1,
    }  # fmt: skip
    return _counterpart("convolutional", (vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim,
                        max_length), facts | options)  # fmt: skip


def _counterpart(family: str, sizes: tuple, facts: dict[str, Any]) -> TransformerConfig:
    hidden_dim = sizes[3]
    sizes = (*sizes[:4], sizes[4] or hidden_dim, *sizes[5:])
    shared = {
        "kind": "decoder", "dropout": 0.1, "attention_dropout": 0.0, "epsilon": 1e-5, "norm": "layer",
        "norm_order": "pre", "embedding_norm": False, "initializer_range": None,
    }  # fmt: skip
    if facts.get("kind") == "encoder_decoder":
        shared["decoder_start_id"] = facts.get("pad_id", 0)
    return named_config(family, tuple(sizes), shared | facts)
