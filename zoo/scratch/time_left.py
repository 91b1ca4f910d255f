"""The time that `--hours` gives to a whole command, and the callback that keeps it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import keras

from keras_transformers.training.workers.distribute import num_workers
from keras_transformers.utils.keras_private import strategy_of

MEASURING = 0.15  # share of the time in which speeds are measured, at most, but for the first
Measured = TypeVar("Measured")


class TimeLeft:
    """The time of a command: all that it does counts, from its start to the folder that it writes.

    Args:
        hours: Time limit in hours; None for no limit.
        started: Start time of the command by the clock; None for now.
        clock: Function that returns the time in seconds.

    Example:

    >>> times = iter([0.0, 30.0, 40.0])
    >>> left = TimeLeft(0.01, clock=lambda: next(times))
    >>> left.spent(), left.left()
    (30.0, -4.0)
    """

    def __init__(
        self, hours: float | None = None, started: float | None = None, clock: Callable[[], float] = time.monotonic
    ):
        self.seconds = math.inf if hours is None else 3600 * hours
        self.clock, self.started = clock, clock() if started is None else started
        self.longest = self.measured = 0.0  # seconds of one measuring, and of all

    def spent(self) -> float:
        """Return the seconds since the command started."""
        return self.clock() - self.started

    def left(self) -> float:
        """Return the seconds that are left; infinite where no time was asked for."""
        return self.seconds - self.spent()

    def measure(self, function: Callable[..., Measured], *arguments: Any) -> Measured:
        """Call a function that measures a speed, and remember how long it took."""
        begin = self.clock()
        measured = function(*arguments)
        took = self.clock() - begin
        self.longest, self.measured = max(self.longest, took), self.measured + took
        return measured

    @property
    def most_measuring(self) -> float:
        """Seconds that one measuring may take, about."""
        return MEASURING / 2 * self.seconds

    def may_measure(self, times: float = 1.0) -> bool:
        """Return whether there is time to measure once more, which takes so many times what the longest took."""
        return self.measured + times * self.longest <= MEASURING * self.seconds


class EndInTime(keras.callbacks.Callback):
    """A callback that ends training while there is time for what follows: it keeps the time on a machine that gets
    slower.

    Several workers must end at the same step, and so do not end early.

    Args:
        left: The time of the command.
        reserve: Seconds of what follows.
        least_steps: Steps before which it does not end.
    """

    def __init__(self, left: TimeLeft, reserve: float, least_steps: int = 0):
        super().__init__()
        self.time_left, self.reserve, self.least_steps = left, reserve, least_steps
        self.steps = 0

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self.steps += 1
        is_over = self.steps >= self.least_steps and self.time_left.left() < self.reserve
        if is_over and not self.model.stop_training and num_workers(strategy_of(self.model)) == 1:
            print("the time of --hours is up: this round is the last", flush=True)
            self.model.stop_training = True
