"""The language model's head."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import keras
from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads.transform import transform
from keras_transformers.layers import TokenEmbedding
from keras_transformers.layers.core.dense import Dense, add_bias, dense_initializer
from keras_transformers.utils.tensor_types import Tensor

TRANSFORM = ("output_transform", "output_transform_norm")


@keras.saving.register_keras_serializable("keras_transformers")
class OutputBias(keras.layers.Layer):
    """A layer that adds one learned number per token of the vocabulary to logits (..., V)."""

    def build(self, logits_shape):
        self.bias = self.add_weight(shape=(logits_shape[-1],), initializer="zeros", name="bias")

    def call(self, logits):
        return add_bias(logits, ops.cast(self.bias, logits.dtype))


def language_model_head(
    config: TransformerConfig, embedding: TokenEmbedding, hidden_states: Tensor, dtype: str | None = None
) -> Tensor:
    """Compute the logits of the next token by the tied projection or a dense layer; some families have a scale, a bias
    or a soft cap.

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
    add_bias = OutputBias(dtype=dtype, name="output_bias") if config.output_bias else None
    if has_transform(config):
        dense, norm = TRANSFORM
        activation = config.pooler_activation
        hidden_states = transform(
            config, hidden_states, dense, config.output_dim, activation, norm_name=norm, dtype=dtype
        )  # (..., D)
    if config.tie_embeddings:
        return logits_of(config, hidden_states, partial(embedding, reverse=True), add_bias)
    initializer = dense_initializer(config.initializer_range)
    project = Dense(config.vocabulary_size, use_bias=False, kernel_initializer=initializer, dtype=dtype, name="lm_head")
    return logits_of(config, hidden_states, project, add_bias)


def head_of(config: TransformerConfig, model: keras.Model) -> Callable:
    """Return the head of a model as a function from hidden states (..., D) to logits (..., V).

    Args:
        config: Configuration of the model.
        model: A model with a `language_model_head`.
    """
    if config.tie_embeddings:
        project = partial(model.get_layer("token_embedding"), reverse=True)
    else:
        project = model.get_layer("lm_head")
    add_bias, begin = model.get_layer("output_bias") if config.output_bias else None, transform_of(config, model)
    return lambda hidden_states: logits_of(config, begin(hidden_states), project, add_bias)


def has_transform(config: TransformerConfig) -> bool:
    """Return whether the language model's head of a decoder begins with a dense layer, an activation and a norm."""
    return config.kind == "decoder" and config.head_transform == "all"


def transform_of(config: TransformerConfig, model: keras.Model) -> Callable:
    """Return the layers before the output projection of a model, as a function; the identity if there are none.

    Args:
        config: Configuration of the model.
        model: A model with a `language_model_head`.
    """
    if not has_transform(config):
        return lambda hidden_states: hidden_states
    dense, norm = (model.get_layer(name) for name in TRANSFORM)
    return lambda hidden_states: norm(dense(hidden_states))


def logits_of(config: TransformerConfig, hidden_states: Tensor, project: Callable, add_bias: Callable | None) -> Tensor:
    """Compute the logits with any output projection: scale before it; bias, divisor and soft cap after it.

    Args:
        config: Read for `scale_outputs`, `logits_divisor` and `logits_soft_cap`.
        hidden_states: (..., D).
        project: The output projection, from (..., D) to (..., V).
        add_bias: Adds the bias of the logits; None if there is none.

    Returns:
        Logits (..., V).
    """
    if config.scale_outputs:
        hidden_states = hidden_states * config.hidden_dim**-0.5
    logits = project(hidden_states)
    logits = logits if add_bias is None else add_bias(logits)
    logits = logits if config.logits_divisor == 1 else logits / config.logits_divisor
    cap = config.logits_soft_cap
    return logits if cap is None else ops.tanh(logits / cap) * cap
