"""Weights of values in chat templates: a list that holds another one twice, and so on, has no length that tells."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

NESTING = (list, tuple, Mapping)


def weight_of(value: Any) -> int:
    """Return about how many characters a value takes when it is written, in time that is linear in distinct values.

    Args:
        value: A text, a number, or lists, tuples and dicts of these.

    Example:

    >>> twice = [["ab"]] * 1000
    >>> weight_of([twice] * 1000)
    4001001
    """
    return _weight(value, {})


def _weight(value: Any, known: dict[int, int]) -> int:
    if isinstance(value, (str, bytes)):
        return len(value) + 1
    if not isinstance(value, NESTING):
        return 1
    if id(value) not in known:
        parts = chain(value, value.values()) if isinstance(value, Mapping) else value
        known[id(value)] = 1 + sum([_weight(part, known) for part in parts])
    return known[id(value)]
