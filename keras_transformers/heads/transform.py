"""The layers that heads of an encoder begin with."""

from __future__ import annotations

import keras

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers.blocks.residual import make_norm
from keras_transformers.layers.core.dense import Dense, dense_initializer, find_activation
from keras_transformers.utils.tensor_types import Tensor


def transform(
    config: TransformerConfig, hidden_states: Tensor, name: str, *, norm_name: str | None = None,
    dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Apply a dense layer, an activation and perhaps a norm.

    The masked LM's are BERT's "transform"; a pooler is one without a norm.

    Args:
        config: Sizes and options.
        hidden_states: (..., D).
        name: Of the dense layer, `"masked_lm_dense"` or `"pooler"`.
        norm_name: Of the norm; None if there is none.
        dtype: Name of a Keras dtype policy.

    Returns:
        (..., D), or the embedding width in place of D for the masked LM.

    Example:

    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> transform(config, keras.Input((None, 16)), "masked_lm_dense", norm_name="masked_lm_norm").shape
    (None, None, 16)
    """
    is_pooler = name == "pooler"
    activation = config.pooler_activation if is_pooler or config.head_transform == "all" else config.activation
    dense = Dense(
        config.hidden_dim if is_pooler else config.embedding_dim or config.hidden_dim,
        activation=find_activation(activation),
        use_bias=config.head_bias,
        kernel_initializer=dense_initializer(config.initializer_range),
        dtype=dtype,
        name=name,
    )
    hidden_states = dense(hidden_states)  # (..., D)
    if norm_name is None:
        return hidden_states
    dtype = dtype or keras.config.dtype_policy().name
    return make_norm(config.norm, config.epsilon, dtype, norm_name, config.has_norm_bias)(hidden_states)  # (..., D)


def token_states(config: TransformerConfig, hidden_states: Tensor, dtype: str | None = None) -> Tensor:
    """Return what heads on single tokens read: hidden states, in ModernBERT after the layers that its heads begin with.

    Args:
        config: Sizes and options.
        hidden_states: (B, T, D).
        dtype: Name of a Keras dtype policy.

    Returns:
        (B, T, D).

    Example:

    >>> from keras_transformers.families import bert
    >>> states = keras.Input((None, 16))
    >>> token_states(bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16), states) is states
    True
    """
    if config.head_transform != "all":
        return hidden_states
    return transform(config, hidden_states, "pooler", norm_name="pooler_norm", dtype=dtype)  # (B, T, D)
