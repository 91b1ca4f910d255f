"""Requests to stop: SIGTERM, with which schedulers announce that a process will be killed."""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import keras

from keras_transformers.training.workers.distribute import sum_over_replicas

FIT = inspect.unwrap(keras.Model.fit).__code__


class StopRequest:
    """A watch for SIGTERM while `fit` runs, so that a callback can save its state before the process ends.

    A second SIGTERM ends the process at once, as does one outside of `fit`. Nothing changes where a program has a
    handler, or outside of the main thread, where Python has none.

    Example:

    >>> request = StopRequest()
    >>> request.watch()
    >>> request.is_made(strategy=None)
    False
    >>> request.unwatch()
    """

    def __init__(self):
        self._received = self._watching = False

    def watch(self) -> None:
        """Watch for signals from now on."""
        self._received = False
        handler = signal.getsignal(signal.SIGTERM)
        is_left_behind = isinstance(getattr(handler, "__self__", None), StopRequest)  # by a `fit` that an error ended
        is_free = handler == signal.SIG_DFL or is_left_behind
        if is_free and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._note)
            self._watching = True

    def unwatch(self) -> None:
        """Leave signals to Python again, and forget one that has come."""
        self._received = False
        if self._watching:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._watching = False

    def is_made(self, strategy: Any | None) -> bool:
        """Return whether this process, or another worker of the strategy, has been asked to stop.

        Args:
            strategy: Distribution strategy of the model. All of its workers must ask at the same place.
        """
        return sum_over_replicas(strategy, int(self._received)) > 0

    def exit(self, folder: Path) -> None:
        """End the process with status 0, as the run is saved.

        Args:
            folder: Folder in which the run is saved.
        """
        self.unwatch()
        message = f"SIGTERM: repeat the call of fit to resume from the last state in {folder}"
        print(f"\n{message}", file=sys.stderr, flush=True)
        raise SystemExit(0)

    def _note(self, number: int, frame: Any) -> None:
        self.unwatch()
        self._received = True
        if not any(place.f_code is FIT for place, _ in traceback.walk_stack(frame)):  # an error has ended `fit`
            os.kill(os.getpid(), number)
