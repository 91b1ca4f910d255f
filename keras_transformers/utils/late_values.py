"""Models whose variables get their first values after they are built: from a file, and initialisers for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import keras

from keras_transformers.utils import keras_private

_late: ContextVar[list[keras.Variable] | None] = ContextVar("late", default=None)


@contextmanager
def late_values() -> Iterator[None]:
    """Leave variables that are made in `building()` without values until `keras_private.set_value`, or the end.

    To load a checkpoint: no initialiser runs for a weight that the file has, which would take longer than all the
    rest. At the end each variable without a value is initialised, and equals what it would have been from the start, as
    Keras draws the seeds of initialisers when layers are made.

    Example:

    >>> with late_values():
    ...     with building():
    ...         layer = keras.layers.Dense(2)
    ...         layer.build((None, 3))
    ...     keras_private.set_value(layer.kernel, [[1.0, 2.0]] * 3)
    >>> layer.get_weights()[0][0].tolist(), layer.get_weights()[1].tolist()
    ([1.0, 2.0], [0.0, 0.0])
    """
    made: list[keras.Variable] = []
    token = _late.set(made)
    try:
        yield
    finally:
        _late.reset(token)
    for variable in made:
        keras_private.initialize(variable)


@contextmanager
def building() -> Iterator[None]:
    """Build a model inside, without values inside `late_values`; nothing outside of it.

    No variable may be read or be made from a value, as an optimizer does: they have to be made outside.
    """
    late = _late.get()
    if late is None:
        yield
        return
    with keras_private.without_values() as made:
        yield
    late.extend(made)
