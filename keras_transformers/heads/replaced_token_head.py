"""The head of ELECTRA's discriminator."""

from __future__ import annotations

from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads.transform import transform
from keras_transformers.layers.core.dense import Dense, dense_initializer
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
    states = transform(
        config, hidden_states, "replaced_token_dense", config.hidden_dim, config.activation, dtype=dtype
    )  # (B, T, D)
    initializer = dense_initializer(config.initializer_range)
    logits = Dense(1, kernel_initializer=initializer, dtype=dtype, name="replaced_token")(states)  # (B, T, 1)
    return ops.squeeze(logits, -1)
