"""An iterator that is read ahead of its consumer: started work continues while earlier results are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def ahead(items: Iterable[Item], count: int) -> Iterator[Item]:
    """Yield the items in order, each once `count` further ones have been taken.

    For items whose making only starts something, such as a computation on a GPU or a copy to it.

    Args:
        items: Iterable of any kind.
        count: Items that wait, at most; 0 for none.

    Example:

    >>> taken = []
    >>> items = ahead((taken.append(number) or number for number in range(5)), 2)
    >>> next(items), taken
    (0, [0, 1, 2])
    """
    waiting: deque[Item] = deque()
    for item in items:
        waiting.append(item)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting
