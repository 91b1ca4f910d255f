"""The layers that heads of an encoder begin with."""

from __future__ import annotations

import keras

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers.core.dense import Dense, dense_initializer, find_activation
from keras_transformers.layers.core.layer_norm import make_norm
from keras_transformers.utils.tensor_types import Tensor


def transform(
    config: TransformerConfig, hidden_states: Tensor, name: str, units: int, activation: str, *,
    norm_name: str | None = None, dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Apply a dense layer, an activation and perhaps a norm.

    The masked LM's are BERT's "transform"; a pooler is one without a norm.

    Args:
        config: Sizes and options.
        hidden_states: (..., D).
        name: Name of the dense layer, such as `"pooler"`.
        units: Outputs of the dense layer, U.
        activation: Keras activation of the dense layer.
        norm_name: Name of the norm; None if there is none.
        dtype: Name of a Keras dtype policy.

    Returns:
        (..., U).

    Example:

    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> transform(config, keras.Input((None, 16)), "masked_lm_dense", 8, "gelu", norm_name="masked_lm_norm").shape
    (None, None, 8)
    """
    dense = Dense(
        units,
        activation=find_activation(activation),
        use_bias=config.head_bias,
        kernel_initializer=dense_initializer(config.initializer_range),
        dtype=dtype,
        name=name,
    )
    hidden_states = dense(hidden_states)  # (..., U)
    if norm_name is None:
        return hidden_states
    dtype = dtype or keras.config.dtype_policy().name
    return make_norm(config.norm, config.epsilon, dtype, norm_name, config.norm_bias)(hidden_states)  # (..., U)


def pooler_transform(config: TransformerConfig, hidden_states: Tensor, dtype: str | None = None) -> Tensor:
    """Apply the layers of the pooler (..., D), with a norm if all heads begin with the same layers.

    Example:

    >>> from keras_transformers.families import bert
    >>> pooler_transform(bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16), keras.Input((16,))).shape
    (None, 16)
    """
    norm_name = "pooler_norm" if config.head_transform == "all" else None
    units, activation = config.hidden_dim, config.pooler_activation
    return transform(config, hidden_states, "pooler", units, activation, norm_name=norm_name, dtype=dtype)


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
    return pooler_transform(config, hidden_states, dtype)  # (B, T, D)
