"""Whether shapes must be known when a program is compiled: on JAX, and in what XLA compiles on TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
