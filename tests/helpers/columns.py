"""A column of a table, as pandas has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Series:
    """Values whose numbers in brackets are the names of rows, not their places: those of a table that was sorted."""

    def __init__(self, values: Iterable):
        self.values = list(values)

    def __iter__(self) -> Iterator:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, name):
        raise KeyError(name)
