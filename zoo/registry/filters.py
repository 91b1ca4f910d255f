"""Filters of the zoo's names: by facts of the entries, and by their number of parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import shown

UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
# A comma stands between thousands alone: 1,5B is not 15 billions. No model has a number of more than 15 digits.
COUNT = re.compile(r"(\d{1,3}(?:[,_]\d{3}){1,4}|\d{1,15}|\d{0,15}\.\d{1,15})\s*([kmb]?)", re.IGNORECASE | re.ASCII)


def fitting(entries: Sequence[Any], facts: Mapping[str, Any], max_parameters: int | str | None = None) -> list[Any]:
    """Return the entries that have all facts, and no more parameters than given.

    Args:
        entries: All `Entry`s of the zoo.
        facts: Values of attributes, by name; texts match in upper and lower case.
        max_parameters: A number, or a text such as `"200M"`; None for any number.

    Raises:
        ValueError: No entry has one of the facts, or `max_parameters` is no number.
    """
    most = math.inf if max_parameters is None else parameter_count(max_parameters)
    for fact, value in facts.items():
        choices = sorted({getattr(entry, fact) for entry in entries})
        if folded(value) not in map(folded, choices):
            raise ValueError(f"{fact} must be one of {choices}, which models of the zoo have: received {shown(value)}.")
    return [
        entry
        for entry in entries
        if entry.sizes[1] <= most and all(folded(getattr(entry, fact)) == folded(facts[fact]) for fact in facts)
    ]


def folded(value: Any) -> Any:
    """Return a value to compare: of a text, in lower case.

    Example:

    >>> folded("MIT"), folded(True)
    ('mit', True)
    """
    return value.casefold() if isinstance(value, str) else value


def parameter_count(value: int | str) -> int:
    """Return a number of parameters that is written with a unit.

    Args:
        value: A number of at least 1; or a text, with K, M or B for thousands, millions and billions.

    Raises:
        ValueError: It is none of these.

    Example:

    >>> parameter_count("200M"), parameter_count("1.5b"), parameter_count(1_000)
    (200000000, 1500000000, 1000)
    """
    found = COUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    number = round(float(re.sub("[,_]", "", found[1])) * UNITS[found[2].lower()]) if found else value
    if not is_size(number):
        raise ValueError(
            f"max_parameters must be a number of at least 1, such as 200M or 1.5B: received {shown(value)}."
        )
    return int(number)
