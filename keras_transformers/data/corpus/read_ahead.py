"""Reading beside the work: a thread makes the next elements while the caller uses the last one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

Element = TypeVar("Element")
AHEAD = 2  # elements
WAIT = 0.2  # seconds after which the thread looks whether the caller has gone


def read_ahead(elements: Iterable[Element]) -> Iterator[Element]:
    """Yield the elements of an iterable, which a thread makes ahead; its errors are raised here.

    Example:

    >>> list(read_ahead(range(3)))
    [0, 1, 2]
    """
    made: queue.Queue[Any] = queue.Queue(AHEAD)
    is_over = threading.Event()

    def put(kind: str, value: Any) -> None:
        while not is_over.is_set():
            try:
                made.put((kind, value), timeout=WAIT)
                break
            except queue.Full:
                continue

    def make() -> None:
        try:
            for element in elements:
                put("element", element)
                if is_over.is_set():
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)

    thread = threading.Thread(target=make, name="read_ahead", daemon=True)
    thread.start()
    try:
        while (item := made.get())[0] == "element":
            yield item[1]
        if item[0] == "error":
            raise item[1]
    finally:
        is_over.set()
        thread.join()
