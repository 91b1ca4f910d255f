"""Callbacks of `fit` on JAX that do not wait for each step: logs are read when a callback asks for them.

JAX returns before a step has run, so that the next batch is made and sent to the device meanwhile. Keras turns the logs
of each batch into floats before it calls callbacks such as `Resume`, which waits for the step: the time of the host is
then added to that of the device.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import keras

SHOWN_EVERY = 0.2  # seconds between two updates of the progress bar, each of which waits for a step


class LateLogs(dict):
    """Logs whose values become floats when they are read.

    Example:

    >>> logs = LateLogs(loss=keras.ops.ones(()))
    >>> logs["loss"], logs.get("accuracy"), list(logs.items())
    (1.0, None, [('loss', 1.0)])
    """

    def __getitem__(self, name: str) -> Any:
        return _number(super().__getitem__(name))

    def __iter__(self) -> Iterator[str]:
        return super().__iter__()  # its own one, or `dict(logs)` and `{**logs}` would not call `__getitem__`

    def __repr__(self) -> str:
        return repr(self.copy())

    def get(self, name: str, default: Any = None) -> Any:
        return _number(super().get(name, default))

    def pop(self, name: str, *default: Any) -> Any:
        return _number(super().pop(name, *default))

    def setdefault(self, name: str, default: Any = None) -> Any:
        return _number(super().setdefault(name, default))

    def items(self) -> Any:
        return self.copy().items()

    def values(self) -> Any:
        return self.copy().values()

    def copy(self) -> dict[str, Any]:
        """Return a dict of all values, read."""
        return {name: self[name] for name in self}


def _number(value: Any) -> Any:
    """Return a number as a float; anything else, such as a metric's values per class, as it is."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


class LateCallbacks(keras.callbacks.CallbackList):
    """A list of callbacks that are given `LateLogs` after a batch.

    A progress bar reads the logs, and so is called a few times a second, not after each batch.

    Args:
        callbacks, options: As for `keras.callbacks.CallbackList`.

    Example:

    >>> read = []
    >>> callback = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: read.append(logs["loss"]))
    >>> LateCallbacks([callback]).on_train_batch_end(0, {"loss": keras.ops.ones(())})
    >>> read
    [1.0]
    """

    def __init__(self, callbacks: list[keras.callbacks.Callback], **options: Any):
        super().__init__(callbacks, **options)
        self._shown = 0.0

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        for callback in self._due():
            callback.on_train_batch_end(batch, LateLogs(logs or {}))

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        for callback in self._due():
            callback.on_test_batch_end(batch, LateLogs(logs or {}))

    def _due(self) -> list[keras.callbacks.Callback]:
        """Return the callbacks to call after this batch."""
        now = time.monotonic()
        is_shown = now - self._shown >= SHOWN_EVERY
        if is_shown:
            self._shown = now
        return [each for each in self.callbacks if is_shown or not isinstance(each, keras.callbacks.ProgbarLogger)]
