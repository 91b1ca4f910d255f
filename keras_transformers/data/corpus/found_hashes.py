"""A set of hashes, and which of them were found among many others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FILTER_BITS = (
    10,
    25,
)  # of a hash, fewest and most: 32 MB of filter let one in seven of other hashes pass to the search


class FoundHashes:
    """A set of hashes that remembers which of them were found.

    Args:
        parts: Arrays of hashes, uint64.

    Example:

    >>> known = FoundHashes([np.array([3, 1 << 60], np.uint64)])
    >>> known.find(np.array([7, 1 << 60, 1 << 63], np.uint64))
    >>> known.were_found(np.array([1 << 60, 3, 1 << 60], np.uint64))
    array([ True, False,  True])
    """

    def __init__(self, parts: Sequence[np.ndarray]):
        self.values = np.unique(np.concatenate(parts))
        self.found = np.zeros(self.values.size + 1, bool)  # and one that no hash is at
        bits = int(np.clip(4 + self.values.size.bit_length(), *FILTER_BITS))
        self._shift = np.uint64(64 - bits)
        self._may_be = np.zeros(1 << bits, bool)  # whether a value has these first bits
        self._may_be[self.values >> self._shift] = True

    def find(self, hashes: np.ndarray) -> None:
        """Remember the hashes of the set that are among the given ones."""
        hashes = hashes[self._may_be[hashes >> self._shift]]
        places = np.searchsorted(self.values, hashes)
        inside = places < self.values.size
        places = places[inside]
        self.found[places[self.values[places] == hashes[inside]]] = True

    def were_found(self, hashes: np.ndarray) -> np.ndarray:
        """Return which of some hashes of the set were found, bool (n,)."""
        return self.found[np.searchsorted(self.values, hashes)]
