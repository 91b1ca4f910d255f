"""Lines that occur more than once in a corpus, or on both sides of its split."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

SHORTEST = 40  # characters: shorter lines repeat in any text
MOST_SAMPLED = 1 << 16  # distinct lines of the sample


class LineFacts:
    """Counts, in flat memory, of held-out lines that training has too, and of lines that repeat.

    Lines of at least 40 characters count, white space and case folded. First `hold_out` each held-out text, then `add`
    all texts.

    Example:

    >>> line = "It is a truth universally acknowledged, that a single man"
    >>> facts = LineFacts()
    >>> facts.hold_out(line + "\\n")
    >>> facts.add("Chapter 1\\n" + line.upper() + "\\n", is_held_out=False)
    >>> facts.shared, facts.repeated
    (1.0, 0.0)
    """

    def __init__(self) -> None:
        self._held_out: set[int] = set()
        self._found: set[int] = set()
        self._sample: dict[int, int] = {}  # number of times by checksum, of the checksums whose last bits are 0
        self._mask = 0

    @property
    def shared(self) -> float:
        """The share of the held-out lines that training has too."""
        return len(self._found) / max(len(self._held_out), 1)

    @property
    def repeated(self) -> float:
        """The share of all lines that occurred before, estimated from a sample of different lines."""
        return 1 - len(self._sample) / sum(self._sample.values()) if self._sample else 0.0

    def hold_out(self, text: str) -> None:
        """Note the lines of a held-out text."""
        self._held_out.update(map(hash, _lines(text)))

    def add(self, text: str, is_held_out: bool) -> None:
        """Count the lines of a text."""
        for line in _lines(text):
            if not is_held_out and (number := hash(line)) in self._held_out:
                self._found.add(number)
            checksum = zlib.crc32(line.encode())  # the same in every process, unlike `hash`
            if not checksum & self._mask:
                self._count(checksum)

    def _count(self, checksum: int) -> None:
        """Count a line of the sample; halve the sample if it has become too large."""
        self._sample[checksum] = self._sample.get(checksum, 0) + 1
        if len(self._sample) > MOST_SAMPLED:
            self._mask = 2 * self._mask + 1
            self._sample = {line: count for line, count in self._sample.items() if not line & self._mask}


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) >= SHORTEST:
            folded = " ".join(line.split()).casefold()
            if len(folded) >= SHORTEST:
                yield folded
