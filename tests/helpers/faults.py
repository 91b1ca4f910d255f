"""A fault at any step of a piece of code."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Iterator


@contextlib.contextmanager
def at_step(number: int, files: Collection[str], act: Callable[[], None]) -> Iterator[list[int]]:
    """Calls `act` once, before the line that is run as number `number` (from 1) of the code in `files`.

    Yields:
        A list of one number, the steps left. If it is still positive at the end, the code has fewer steps.
    """
    left = [number]

    def trace(frame, event, _):
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield left
    finally:
        sys.settrace(before)
