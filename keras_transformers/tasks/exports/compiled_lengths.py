"""Lengths that a single row is padded to, where XLA compiles a program for each."""

from __future__ import annotations

from keras_transformers.data.batches.batching import FINE_BUCKETS
from keras_transformers.utils.static_shapes import next_size
from keras_transformers.utils.tensor_types import Tensor

MOST_TOKENS = 512  # of a row: for more, TensorFlow's own kernels are as fast


def compiled_lengths(max_length: int) -> list[int]:
    """Return the lengths in tokens that rows are padded to, ascending: XLA compiles a program for each.

    Example:

    >>> compiled_lengths(30)
    [8, 10, 12, 14, 16, 20, 24, 28, 30]
    """
    longest = min(max_length, MOST_TOKENS)
    return [*(length for length in FINE_BUCKETS if length < longest), longest]


def padded_length(tokens: Tensor, max_length: int) -> Tensor:
    """Return the length, an int32 scalar, that rows of so many tokens are padded to; of more than the most, `tokens`.

    Example:

    >>> int(padded_length(9, 30)), int(padded_length(600, 1024))
    (10, 600)
    """
    return next_size(tokens, compiled_lengths(max_length))
