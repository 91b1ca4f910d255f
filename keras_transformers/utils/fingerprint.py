"""Fingerprints of weights, by which a change is seen without a copy of them."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_transformers.utils.tensor_types import Tensor


def fingerprint(weights: Any) -> Tensor:
    """Return numbers that change with the weights, one for each row of the last axis: float32 (N,).

    To read weights once is much faster than to copy or to transpose them.

    Args:
        weights: Tensor or variable of any shape and dtype.

    Example:

    >>> np.round(fingerprint(np.array([[1.0, 0.0], [0.0, 1.0]])), 2).astype(str).tolist()
    ['1.0', '0.54']
    """
    x = ops.convert_to_tensor(weights)
    width = x.shape[-1] if len(x.shape) else 1
    rows = ops.cast(ops.reshape(x, (-1, width)), "float32")  # (N, width)
    probe = ops.cos(ops.arange(width, dtype="float32"))  # differs from place to place, so exchanged numbers are seen
    return ops.matmul(rows, ops.expand_dims(probe, 1))[:, 0]
