"""The masked language model's head."""

from __future__ import annotations

import keras
from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import TokenEmbedding
from keras_transformers.layers.blocks.residual import make_norm
from keras_transformers.layers.core.dense import Dense, add_bias, dense_initializer, find_activation
from keras_transformers.layers.core.gather import GatherTokens
from keras_transformers.utils.tensor_types import Tensor


@keras.saving.register_keras_serializable("keras_transformers")
class OutputBias(keras.layers.Layer):
    """A layer that adds one learned number per token of the vocabulary to logits (..., V)."""

    def build(self, logits_shape):
        self.bias = self.add_weight(shape=(logits_shape[-1],), initializer="zeros", name="bias")

    def call(self, logits):
        return add_bias(logits, ops.cast(self.bias, logits.dtype))


def masked_lm_head(
    config: TransformerConfig, embedding: TokenEmbedding, hidden_states: Tensor, mask_positions: Tensor,
    dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Predict the tokens at some positions: dense, activation, norm, then the tied output projection with a bias.

    Only these positions are computed, as the projection on the vocabulary is the most expensive part.
    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        config: Sizes and options.
        embedding: The token embedding of the model, whose table is the projection.
        hidden_states: (B, T, D).
        mask_positions: int32 (B, M), indices in T; unused ones may hold any valid index.
        dtype: Name of a Keras dtype policy.

    Returns:
        Logits (B, M, V).

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.models import encoder
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> model = encoder(config)
    >>> positions = keras.Input((None,), dtype="int32")
    >>> masked_lm_head(config, model.get_layer("token_embedding"), model.output["hidden_states"], positions).shape
    (None, None, 100)
    """
    gathered = GatherTokens(dtype=dtype)(hidden_states, positions=mask_positions)  # (B, M, D)
    dense = Dense(
        config.embedding_dim or config.hidden_dim,
        activation=find_activation(config.activation),
        kernel_initializer=dense_initializer(config.initializer_range),
        dtype=dtype,
        name="masked_lm_dense",
    )
    dtype = dtype or keras.config.dtype_policy().name
    normed = make_norm(config.norm, config.epsilon, dtype, "masked_lm_norm")(dense(gathered))
    return OutputBias(dtype=dtype, name="masked_lm_bias")(embedding(normed, reverse=True))
