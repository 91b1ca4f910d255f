"""The split of a table into rows to learn from and held-out rows."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import takewhile
from typing import Any

Rows = dict[str, Any]  # columns, as `data.examples_of` returns them
MANY = 10  # held-out rows are never too many up to this number, however few the rows are


def split_rows(
    rows: Rows, fraction: float, seed: int, classes: Sequence[Hashable] | None = None, by: str = "texts"
) -> tuple[Rows, Rows | None]:
    """Split a table in two parts, each in the table's order.

    Rows with the same text, but for case and spaces, stay together. Of each class with two texts or more, at least one
    is held out and at least one is learnt from; if that would hold out more than twice the fraction, as there are so
    many classes, no row of the smallest classes is held out.

    Args:
        rows: Columns of one length.
        fraction: The share of the rows to hold out.
        seed: Random seed for the choice of rows.
        classes: The class of each row, to hold out the fraction of each class; None for rows without classes.
        by: The column whose equal texts stay together.

    Returns:
        The rows to learn from and the held-out rows; None for these if there are too few rows for both.

    Example:

    >>> texts, labels = ["a", "b", "c", "d", "A ", "e"], ["x", "x", "y", "y", "x", "z"]
    >>> learnt, held_out = split_rows({"texts": texts, "labels": labels}, 0.2, 0, labels)
    >>> sorted(held_out["labels"]), "z" in learnt["labels"]
    (['x', 'y'], True)
    """
    strata: dict[Hashable, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    class_of: dict[str, Hashable] = {}
    for row, text in enumerate(map(_key, rows[by])):
        label = class_of.setdefault(text, classes[row] if classes is not None else None)
        strata[label][text].append(row)
    order = random.Random(seed)
    held_out: set[int] = set()
    for texts, count in _counts([list(texts.values()) for texts in strata.values()], fraction):
        order.shuffle(texts)
        held_out.update(_pick(texts, count))
    if not held_out:
        return rows, None

    def part(is_held_out: bool) -> Rows:
        return {
            name: [value for row, value in enumerate(column) if (row in held_out) is is_held_out]
            for name, column in rows.items()
        }

    return part(False), part(True)


def _key(text: Any) -> str:
    """Return a key that is equal for texts which differ in case and spaces only.

    Words, or choices, are joined, and the messages of a conversation up to its first answer.
    """
    if not isinstance(text, str):
        text = " ".join(text if all(isinstance(word, str) for word in text) else _asked(text))
    return " ".join(text.split()).casefold()


def _asked(messages: Sequence[Any]) -> list[str]:
    return [turn["content"] for turn in takewhile(lambda turn: turn["role"] != "assistant", messages)]


def _counts(strata: list[list[list[int]]], fraction: float) -> list[tuple[list[list[int]], int]]:
    """Return for each class the rows of each of its texts, and how many of its rows to hold out."""
    sizes = [sum(map(len, texts)) for texts in strata]
    counts = [
        max(1, round(fraction * size)) if len(texts) > 1 else 0 for texts, size in zip(strata, sizes, strict=True)
    ]
    wanted = fraction * sum(sizes)
    room = max(MANY, round(2 * wanted))
    if sum(counts) > room:
        room = max(MANY, round(wanted))
        for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
            counts[place] = min(counts[place], room)
            room -= counts[place]
    return list(zip(strata, counts, strict=True))


def _pick(texts: list[list[int]], count: int) -> list[int]:
    """Return the rows of some texts but not of all, `count` rows if possible."""
    picked: list[int] = []
    for rows in texts[:-1]:
        if len(picked) + len(rows) <= count:
            picked += rows
    return picked or (min(texts, key=len) if count else [])
