"""Pooling: one vector per text."""

from __future__ import annotations

from collections.abc import Callable

from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads.transform import pooler_transform
from keras_transformers.layers import Dropout
from keras_transformers.utils.tensor_types import Tensor


def pooler(
    config: TransformerConfig, hidden_states: Tensor, dtype: str | None = None, padding_mask: Tensor | None = None
) -> Tensor:
    """Apply a dense layer with an activation to what the classifier reads, usually the first token, `[CLS]`.

    In BERT it is part of the model; in RoBERTa, DistilBERT and ELECTRA it is the first layer of the classifier, in some
    of them after a dropout. ModernBERT's has a norm. A classifier that reads the last token has no such layer.

    Args:
        config: Sizes and options; `classifier_pooling` says what is read.
        hidden_states: (B, T, D).
        dtype: Name of a Keras dtype policy.
        padding_mask: (B, T), 0 for padding; needed to read the mean of the tokens, or the last one.

    Returns:
        (B, D); (B, T, D) if the classifier reads each token.

    Example:

    >>> import keras
    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16)
    >>> pooler(config, keras.Input((None, 16))).shape
    (None, 16)
    """
    pooled = _read(config, hidden_states, padding_mask)  # (B, D), or (B, T, D)
    if config.classifier_pooling == "last":
        return pooled
    if config.pooler_dropout:
        pooled = Dropout(config.pooler_dropout, dtype=dtype, name="pooler_dropout")(pooled)
    return pooler_transform(config, pooled, dtype)  # (B, D), or (B, T, D)


def _read(config: TransformerConfig, hidden_states: Tensor, padding_mask: Tensor | None) -> Tensor:
    if config.classifier_pooling == "first":
        return hidden_states[:, 0]  # (B, D)
    if config.classifier_pooling == "late":
        return hidden_states  # (B, T, D)
    if padding_mask is None:
        raise ValueError(
            f'classifier_pooling="{config.classifier_pooling}" needs to know which tokens are padding: give '
            "padding_mask."
        )
    read = last_token if config.classifier_pooling == "last" else mean_of_tokens
    return read(hidden_states, padding_mask)  # (B, D)


def of_pooled(
    config: TransformerConfig, hidden_states: Tensor, padding_mask: Tensor, head: Callable[[Tensor], Tensor],
    dtype: str | None = None,
) -> Tensor:  # fmt: skip
    """Apply the pooler and a head; if the classifier reads each token, return the mean of what the head gives.

    Args:
        config: Sizes and options; `classifier_pooling` says what is read.
        hidden_states: (B, T, D).
        padding_mask: (B, T), 0 for padding.
        head: Function from (..., D) to (..., C).
        dtype: Name of a Keras dtype policy.

    Returns:
        (B, C).

    Example:

    >>> import keras
    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=16, classifier_pooling="late")
    >>> of_pooled(config, keras.Input((None, 16)), keras.Input((None,)), keras.layers.Dense(3)).shape
    (None, 3)
    """
    found = head(pooler(config, hidden_states, dtype, padding_mask))  # (B, C), or (B, T, C)
    return mean_of_tokens(found, padding_mask) if config.classifier_pooling == "late" else found


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
