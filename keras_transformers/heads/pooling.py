"""One vector per text."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformers.config import TransformerConfig
from keras_transformers.layers.dense import dense_initializer


def pooler(config: TransformerConfig, hidden_states: Any, dtype: str | None = None) -> Any:
    """BERT's pooler: a dense layer with tanh on the hidden state of the first token, `[CLS]`.

    Args:
        config: Sizes and options.
        hidden_states: (B, T, D).
        dtype: Name of a Keras dtype policy.

    Returns:
        (B, D).

    Example:

    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> pooler(config, keras.Input((None, 16))).shape
    (None, 16)
    """
    layer = keras.layers.Dense(
        config.hidden_dim,
        activation="tanh",
        kernel_initializer=dense_initializer(config.initializer_range),
        dtype=dtype,
        name="pooler",
    )
    return layer(hidden_states[:, 0])
