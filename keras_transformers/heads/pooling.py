"""Pooling: one vector per text."""

from __future__ import annotations

from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import Dropout
from keras_transformers.layers.core.dense import Dense, dense_initializer, find_activation
from keras_transformers.utils.tensor_types import Tensor


def pooler(config: TransformerConfig, hidden_states: Tensor, dtype: str | None = None) -> Tensor:
    """Apply a dense layer with an activation to the hidden state of the first token, `[CLS]`.

    In BERT it is part of the model; in RoBERTa, DistilBERT and ELECTRA it is the first layer of the classifier, in some
    of them after a dropout.

    Args:
        config: Sizes and options.
        hidden_states: (B, T, D).
        dtype: Name of a Keras dtype policy.

    Returns:
        (B, D).

    Example:

    >>> import keras
    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> pooler(config, keras.Input((None, 16))).shape
    (None, 16)
    """
    layer = Dense(
        config.hidden_dim,
        activation=find_activation(config.pooler_activation),
        kernel_initializer=dense_initializer(config.initializer_range),
        dtype=dtype,
        name="pooler",
    )
    first = hidden_states[:, 0]  # (B, D)
    if config.pooler_dropout:
        first = Dropout(config.pooler_dropout, dtype=dtype, name="pooler_dropout")(first)
    return layer(first)


def last_token(hidden_states: Tensor, padding_mask: Tensor) -> Tensor:
    """Return the hidden state of the last token, which in a decoder has seen the whole text.

    Paper: Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training".

    Args:
        hidden_states: (B, T, D).
        padding_mask: (B, T), 0 for padding, at the end of a row.

    Returns:
        (B, D).

    Example:

    >>> states = np.array([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]])
    >>> ops.convert_to_numpy(last_token(states, np.array([[1, 1, 0], [1, 1, 1]]))).tolist()
    [[2.0], [6.0]]
    """
    lengths = ops.sum(ops.cast(ops.not_equal(padding_mask, 0), "int32"), axis=1)
    last = ops.reshape(ops.maximum(lengths - 1, 0), (-1, 1, 1))
    return ops.squeeze(ops.take_along_axis(hidden_states, last, axis=1), axis=1)


def mean_of_tokens(hidden_states: Tensor, padding_mask: Tensor) -> Tensor:
    """Return the mean of the hidden states of real tokens, special tokens included.

    Paper: Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084.

    Args:
        hidden_states: (B, T, D).
        padding_mask: (B, T), 0 for padding.

    Returns:
        float32 (B, D): in half precision, a sum over many tokens would lose digits.

    Example:

    >>> states = np.array([[[1.0], [2.0], [9.0]], [[4.0], [5.0], [6.0]]])
    >>> ops.convert_to_numpy(mean_of_tokens(states, np.array([[1, 1, 0], [1, 1, 1]]))).tolist()
    [[1.5], [5.0]]
    """
    weights = ops.expand_dims(ops.cast(ops.not_equal(padding_mask, 0), "float32"), -1)  # (B, T, 1)
    total = ops.sum(ops.cast(hidden_states, "float32") * weights, axis=1)  # (B, D)
    return total / ops.maximum(ops.sum(weights, axis=1), 1.0)
