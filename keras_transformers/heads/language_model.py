"""The language model's head."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformers.config import TransformerConfig
from keras_transformers.heads.masked_lm import OutputBias
from keras_transformers.layers import TokenEmbedding
from keras_transformers.layers.dense import dense_initializer


def language_model_head(
    config: TransformerConfig, embedding: TokenEmbedding, hidden_states: Any, dtype: str | None = None
) -> Any:
    """The next token: the tied output projection or a dense layer of its own, with a scale or a bias in some families.

    Args:
        config: Sizes and options.
        embedding: The token embedding of the model.
        hidden_states: (..., D).
        dtype: Name of a Keras dtype policy.

    Returns:
        Logits (..., V).

    Example:

    >>> from keras_transformers.families import gpt2
    >>> from keras_transformers.models import decoder
    >>> config = gpt2(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> model = decoder(config)
    >>> language_model_head(config, model.get_layer("token_embedding"), model.output["hidden_states"]).shape
    (None, None, 100)
    """
    if config.scale_outputs:
        hidden_states = hidden_states * config.hidden_dim**-0.5
    logits = _project(config, embedding, hidden_states, dtype)
    return OutputBias(dtype=dtype, name="output_bias")(logits) if config.output_bias else logits


def _project(config: TransformerConfig, embedding: TokenEmbedding, hidden_states: Any, dtype: str | None) -> Any:
    if config.tie_embeddings:
        return embedding(hidden_states, reverse=True)
    initializer = dense_initializer(config.initializer_range)
    layer = keras.layers.Dense(
        config.vocabulary_size, use_bias=False, kernel_initializer=initializer, dtype=dtype, name="lm_head"
    )
    return layer(hidden_states)
