"""The head of ELECTRA's discriminator."""

from __future__ import annotations

from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers.core.dense import Dense, dense_initializer, find_activation
from keras_transformers.utils.tensor_types import Tensor


def replaced_token_head(config: TransformerConfig, hidden_states: Tensor, dtype: str | None = None) -> Tensor:
    """Predict for each token whether it was replaced: dense, activation, and a dense layer of one output.

    Paper: Clark et al. 2020, https://arxiv.org/abs/2003.10555.

    Args:
        config: Sizes and options.
        hidden_states: (B, T, D).
        dtype: Name of a Keras dtype policy.

    Returns:
        Logits (B, T), above 0 where a token is taken for a replaced one.

    Example:

    >>> import keras
    >>> from keras_transformers.families import electra
    >>> config = electra(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> replaced_token_head(config, keras.Input((None, 16))).shape
    (None, None)
    """
    options = {"kernel_initializer": dense_initializer(config.initializer_range), "dtype": dtype}
    activation = find_activation(config.activation)
    dense = Dense(config.hidden_dim, activation=activation, name="replaced_token_dense", **options)
    return ops.squeeze(Dense(1, name="replaced_token", **options)(dense(hidden_states)), -1)
