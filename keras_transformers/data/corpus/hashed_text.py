"""Hashes of all lines and all runs of characters of a text, computed at once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

CODES = 1 << 17  # code points with a row of their own in the tables: all but rare ideographs and private ones
BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
INVERSE = pow(BASE, -1, 1 << 64)
LINE_ENDS = (10, 13)  # "\n" and "\r"; the empty line inside "\r\n" is none


class HashedText:
    """The characters of a text without white space, case folded, with the hashes of its runs and lines.

    Equal runs have equal 64-bit hashes, in every text and process. The hash of a run is the difference of two sums of
    codes times powers of `BASE`, divided by the power that it begins with (Karp and Rabin 1987), so that none is
    computed character by character.

    Args:
        text: Text of some megabytes at most: it takes about 40 bytes of memory per character.

    Attributes:
        is_letter: bool (characters,), whether a character of the text is no white space.
        bounds: int (lines + 1,), where the lines begin and end among those characters. Blank lines are left out.
        lengths: int (lines,), characters of each line, without white space.

    Example:

    >>> text = HashedText("The cat\\n\\n  the CAT\\r\\nsat.")
    >>> first, second, third = text.lines().tolist()
    >>> first == second != third, text.lengths.tolist()
    (True, [6, 6, 4])
    """

    def __init__(self, text: str):
        numbers, is_space = _tables()
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4") & np.uint32(CODES - 1)
        self.is_letter = ~is_space[codes]
        values = numbers[codes[self.is_letter]]
        self._inverse = _powers(INVERSE, values.size)
        self._sums = np.zeros(values.size + 1, np.uint64)
        np.cumsum(values * _powers(BASE, values.size)[:-1], out=self._sums[1:])
        ends = np.cumsum(self.is_letter)[(codes == LINE_ENDS[0]) | (codes == LINE_ENDS[1])]
        self.bounds = np.unique(np.concatenate([[0], ends, [values.size]]))
        self.lengths = np.diff(self.bounds)

    def __len__(self) -> int:
        return self._sums.size - 1

    def runs(self, size: int) -> np.ndarray:
        """Return the hash of the run of `size` characters from each character on, uint64 (n - size + 1,)."""
        count = max(len(self) - size + 1, 0)
        return (self._sums[size : size + count] - self._sums[:count]) * self._inverse[:count]

    def lines(self) -> np.ndarray:
        """Return the hash of each line, uint64 (lines,)."""
        begins, ends = self.bounds[:-1], self.bounds[1:]
        return (self._sums[ends] - self._sums[begins]) * self._inverse[begins]


@lru_cache(1)
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Return a random number for each code point, the same for both cases; and which of them are white space."""
    folded = (character.casefold() for character in map(chr, range(CODES)))
    codes = np.array([ord(fold) if len(fold) == 1 else code for code, fold in enumerate(folded)], np.uint64)
    values = (codes + np.uint64(1)) * np.uint64(BASE)  # splitmix64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values ^ (values >> np.uint64(31)), np.array([chr(code).isspace() for code in range(CODES)])


def _powers(base: int, count: int) -> np.ndarray:
    """Return the powers 0 to `count` of a number, modulo 2^64."""
    return _kept_powers(base, 1 << max(count, 1).bit_length())[: count + 1]


@lru_cache(4)  # texts of one size follow each other
def _kept_powers(base: int, count: int) -> np.ndarray:
    factors = np.full(count + 1, base, np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)
