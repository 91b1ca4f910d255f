"""Shapes that must be known when a program is compiled: on JAX, and in what XLA compiles on TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import keras

_FOR_XLA: ContextVar[bool] = ContextVar("_FOR_XLA", default=False)


def needs_static_shapes() -> bool:
    """Return whether the size of no tensor may depend on values.

    Example:

    >>> with static_shapes():
    ...     needs_static_shapes()
    True
    """
    return keras.backend.backend() != "tensorflow" or _FOR_XLA.get()


@contextmanager
def static_shapes() -> Iterator[None]:
    """Trace functions that XLA compiles inside."""
    token = _FOR_XLA.set(True)
    try:
        yield
    finally:
        _FOR_XLA.reset(token)


def next_size(number: Any, sizes: Sequence[int]) -> Any:
    """Return the least of some sizes that is no less than a number, int32 (); the number beyond the largest.

    XLA compiles a program for each size, so tensors are padded to few of them.

    Args:
        number: int32 (), a TensorFlow tensor or an int.
        sizes: Sizes, ascending.

    Example:

    >>> [int(next_size(number, [2, 4, 8])) for number in (0, 3, 8, 9)]
    [2, 4, 8, 9]
    """
    import tensorflow as tf

    known = tf.constant([*sizes, 0])
    return tf.maximum(known[tf.searchsorted(known[:-1], [number])[0]], number)
