"""The share of repeated lines in a corpus, estimated from a sample of its lines."""

from __future__ import annotations

import numpy as np

from keras_transformers.data.corpus.hashed_text import HashedText

MOST_SAMPLED = 1 << 16  # distinct lines


class LineSample:
    """Counts the lines whose hashes end in zeros, the more zeros the more lines there are: in flat memory.

    Example:

    >>> sample = LineSample()
    >>> sample.add(HashedText("Come in!\\nNo.\\nCome in!\\ncome  in!"))
    >>> sample.repeated(shortest=4)
    0.6666666666666667
    """

    def __init__(self) -> None:
        self._counts: dict[int, tuple[int, int]] = {}  # times and characters of a line, by its hash
        self._mask = 0

    def add(self, text: HashedText) -> None:
        """Count the lines of a text; halve the sample when it has become too large."""
        hashes = text.lines()
        chosen = np.flatnonzero(hashes & np.uint64(self._mask) == 0)
        values, places, counts = np.unique(hashes[chosen], return_index=True, return_counts=True)
        lengths = text.lengths[chosen][places]
        for value, length, count in zip(values.tolist(), lengths.tolist(), counts.tolist(), strict=True):
            self._counts[value] = (self._counts.get(value, (0,))[0] + count, length)
        while len(self._counts) > MOST_SAMPLED:
            self._mask = 2 * self._mask + 1
            self._counts = {value: line for value, line in self._counts.items() if not value & self._mask}

    def repeated(self, shortest: int) -> float:
        """Return the share of the lines that occurred before.

        Args:
            shortest: Characters of a line that counts, without white space.
        """
        counts = [count for count, length in self._counts.values() if length >= shortest]
        return 1 - len(counts) / sum(counts) if counts else 0.0
