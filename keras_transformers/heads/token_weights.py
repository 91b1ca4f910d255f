"""Sparse vectors of texts: a weight for each token of the vocabulary, from the logits of a masked language model."""

from __future__ import annotations

from keras import ops

from keras_transformers.utils.tensor_types import Tensor


def token_weights(logits: Tensor, padding_mask: Tensor, pooling: str = "max", activation: str = "relu") -> Tensor:
    """Return the weight of each token of the vocabulary in each text, at least 0; most are 0 in a trained model.

    A weight is log(1 + relu(logit)), of which the largest of all places of a text is taken, or the sum.
    Papers: Formal et al. 2021, "SPLADE", https://arxiv.org/abs/2107.05720 (the sum), and "SPLADE v2",
    https://arxiv.org/abs/2109.10086 (the largest); the second logarithm: https://arxiv.org/abs/2504.14839.

    Args:
        logits: (B, T, V).
        padding_mask: (B, T), 0 for padding, which gives no weight.
        pooling: `"max"` or `"sum"`.
        activation: `"relu"`, or `"log1p_relu"` for the logarithm of 1 + the weight.

    Returns:
        float32 (B, V).

    Example:

    >>> import numpy as np
    >>> logits = np.array([[[1.0, -2.0, 0.0], [3.0, 4.0, -1.0], [9.0, 9.0, 9.0]]])
    >>> weights = ops.convert_to_numpy(token_weights(logits, np.array([[1, 1, 0]])))
    >>> weights.astype("float64").round(2).tolist()
    [[1.39, 1.61, 0.0]]
    """
    is_text = ops.expand_dims(ops.not_equal(padding_mask, 0), -1)  # (B, T, 1)
    kept = ops.where(is_text, ops.relu(ops.cast(logits, "float32")), 0.0)  # (B, T, V)
    if pooling == "max":  # the logarithms keep the order: of the largest they are taken once
        return _scaled(ops.max(kept, axis=1), activation)
    return ops.sum(_scaled(kept, activation), axis=1)


def largest(weights: Tensor, count: int | None) -> Tensor:
    """Return weights (B, V) of which each row keeps its largest ones, of equal ones the first; the others are 0.

    Args:
        weights: (B, V), at least 0.
        count: Number of weights that are kept; None for all.

    Example:

    >>> import numpy as np
    >>> ops.convert_to_numpy(largest(np.array([[1.0, 3.0, 0.0, 3.0, 1.0]]), 3)).tolist()
    [[1.0, 3.0, 0.0, 3.0, 0.0]]
    """
    if count is None or count >= weights.shape[-1]:
        return weights
    least = ops.top_k(weights, count)[0][:, -1:]  # (B, 1)
    better, equal = ops.greater(weights, least), ops.equal(weights, least)  # (B, V) each
    room = count - ops.sum(ops.cast(better, "int32"), axis=1, keepdims=True)  # (B, 1)
    chosen = better | (equal & (ops.cumsum(ops.cast(equal, "int32"), axis=1) <= room))
    return ops.where(chosen, weights, ops.zeros_like(weights))


def _scaled(weights: Tensor, activation: str) -> Tensor:
    weights = ops.log1p(weights)
    return ops.log1p(weights) if activation == "log1p_relu" else weights
