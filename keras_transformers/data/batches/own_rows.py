"""The rows of a batch that one of several replicas trains on, made without the rows of the other replicas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Share(NamedTuple):
    """One of the nearly equal parts into which the rows of each batch are divided.

    Args:
        index: Index of the part, from 0.
        count: Parts.

    Example:

    >>> [Share(index, 3).rows(8) for index in range(3)]
    [slice(0, 3, None), slice(3, 6, None), slice(6, 8, None)]
    """

    index: int  # type: ignore[assignment]  # hides the methods of tuples, which a share does not need
    count: int  # type: ignore[assignment]

    def rows(self, num_rows: int) -> slice:
        """Return the rows of a batch of `num_rows`; none, where a batch has fewer rows than parts."""
        size, larger = divmod(num_rows, self.count)
        begin = self.index * size + min(self.index, larger)
        return slice(begin, begin + size + (self.index < larger))


class OwnDraws:
    """A generator for some rows of a batch: they get the numbers that they have when the whole batch is made.

    It draws for all rows, which takes some nanoseconds a number, and returns its part.

    Args:
        rng: `np.random.Generator` of the batch.
        rows: The own rows.
        num_rows: Rows of the batch.

    Example:

    >>> whole = np.random.default_rng(0).random((4, 2))
    >>> own = OwnDraws(np.random.default_rng(0), slice(1, 3), 4).random((2, 2))
    >>> np.array_equal(own, whole[1:3])
    True
    """

    def __init__(self, rng: np.random.Generator, rows: slice, num_rows: int):
        self._rng, self._rows, self._num_rows = rng, rows, num_rows

    def random(self, size: tuple[int, ...]) -> np.ndarray:
        """Draw floats from 0 to below 1, of shape `size`, whose first axis is the own rows."""
        return self._rng.random((self._num_rows, *size[1:]))[self._rows]

    def integers(self, high: int, size: tuple[int, ...]) -> np.ndarray:
        """Draw integers from 0 to below `high`, of shape `size`, whose first axis is the own rows."""
        return self._rng.integers(high, size=(self._num_rows, *size[1:]))[self._rows]


RowDraws = np.random.Generator | OwnDraws  # what a row-wise objective draws from


def row_generators(rng: RowDraws, num_rows: int) -> list[np.random.Generator]:
    """Return a generator for each row, for an objective that draws row by row.

    Args:
        rng: Random generator of the batch, or of some of its rows.
        num_rows: Number of these rows.

    Example:

    >>> [int(generator.integers(6)) for generator in row_generators(np.random.default_rng(0), 3)]
    [5, 0, 5]
    """
    return [np.random.default_rng(seed) for seed in rng.integers(1 << 63, size=(num_rows,)).tolist()]
