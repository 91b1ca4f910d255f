"""Models of any size without their memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import keras


@contextlib.contextmanager
def shapes_only() -> Iterator[None]:
    """What is built here has weights with shapes and without values."""
    with keras.StatelessScope(initialize_variables=False):
        yield
    # Keras has put the weights on a list, and would give them values at the next occasion: gigabytes for a large model.
    # Without a collection of garbage: late in a long run of tests, it takes seconds.
    keras.utils.clear_session(free_memory=False)
