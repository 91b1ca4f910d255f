"""A progress bar that only long work shows."""

from __future__ import annotations

import sys
import time
from typing import Any

import keras

PATIENCE = 3.0  # seconds of work without a bar
CHOICES = ("auto", 0, 1, 2)


class Progress:
    """Keras' progress bar, shown on a terminal once the work has taken some seconds.

    Args:
        verbose: `"auto"`, a bar on a terminal for more than some seconds of work; 0, none; 1, a bar; 2, one line at the
            end.
        total: The count at the end; None if unknown.
        unit: Name of what is counted.

    Raises:
        ValueError: `verbose` has another value.

    Example:

    >>> Progress(0, total=2).add(1)
    """

    def __init__(self, verbose: Any, total: int | None = None, unit: str = "text"):
        if verbose not in CHOICES:
            raise ValueError(f"verbose must be one of {CHOICES}: received {verbose!r}.")
        self.total, self.done, self.shown = total, 0, False
        auto = verbose == "auto"
        self.begin = time.monotonic() + (PATIENCE if auto else 0.0)  # when it may be shown
        verbose = int(sys.stdout is not None and sys.stdout.isatty()) if auto else verbose
        self.bar = keras.utils.Progbar(total, verbose=verbose, unit_name=unit) if verbose else None

    def add(self, count: int) -> None:
        """Add to the count, and show it."""
        self.done += count
        if self.bar is not None and time.monotonic() >= self.begin:
            self.shown = True
            self.bar.update(self.done)

    def finish(self) -> None:
        """End the line of a bar whose total was unknown."""
        if self.bar is not None and self.shown and self.total is None:
            self.bar.update(self.done, finalize=True)


def count_of(texts: Any) -> int | None:
    """Return the number of texts; None for an iterator.

    Example:

    >>> count_of(["a", "b"]), count_of(iter("ab"))
    (2, None)
    """
    return len(texts) if hasattr(texts, "__len__") else None
