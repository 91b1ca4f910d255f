"""Copies of the training text in the held-out text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from keras_transformers.data.corpus.found_hashes import FoundHashes
from keras_transformers.data.corpus.hashed_text import HashedText
from keras_transformers.data.corpus.held_out_split import SidedText
from keras_transformers.data.corpus.line_sample import LineSample

# Characters without white space, of alphabets and of ideographs. Texts of one kind share runs by chance. Of sections of
# 11 honest texts, 0.0 to 1.4 % is in runs of 32 that the rest has (novels, plays, Wikipedia, reviews, captions, single
# sentences); 0.3 to 8 % in runs of 24; 3 % of novels in runs of 20. Source code repeats itself more.
RUN, RUN_OF_IDEOGRAPHS = 32, 16
IDEOGRAPHS = "\u2e80"  # and what follows: Chinese, Japanese, Korean
SHORTEST = 12  # of a line that counts as a copy, where most lines are much longer: names of speakers are no copies
LONG, NEARLY = 1_000, 0.95  # characters of a line that is shared if so much of it is in runs
SAMPLED = 10_000  # characters of a block that tell which
BLOCK = 1 << 20  # characters that are hashed at once
MOST_COMPARED = 1 << 23  # held-out characters


class CopyShares(NamedTuple):
    """Shares of a held-out text and of a corpus: see `CorpusFacts`."""

    copied_characters: float
    uncopied_characters: float
    shared_lines: float
    repeated_lines: float


class _Block(NamedTuple):
    """Some held-out text, and where its documents end; a line end that is not theirs stands behind each."""

    text: str
    ends: list[int]


class HeldOutCopies:
    """Finds what of a held-out text is in the training text, too, in flat memory: some 60 bytes for each held-out
    character, of which 8 million are compared at most.

    A copy is a line that training has, or a run of 32 characters or more (16 in Chinese, Japanese and Korean), wherever
    lines end; white space and case do not count. A line of fewer than 12 characters is a copy only if half of the text
    is in lines of less than twice its length, as in verse in Chinese, or a list of names.

    First `note` all pieces of the corpus, then `add` all of them, then ask.

    Example:

    >>> line = "It is a truth universally acknowledged, that a single man"
    >>> pieces = [SidedText(f"{line}\\nmust want a wife", True, True), SidedText(line.upper(), False, True)]
    >>> copies = HeldOutCopies()
    >>> for piece in pieces:
    ...     copies.note(piece)
    >>> copies.add(pieces)
    >>> copies.shares().shared_lines, [*copies.uncopied()]
    (0.5, [('must want a wife\\n', True)])
    """

    def __init__(self) -> None:
        self._kept: list[tuple[int, SidedText]] = []
        self._number, self._size, self._every = 0, 0, 1
        self._repeated = LineSample()

    def note(self, piece: SidedText) -> None:
        """Keep a piece of text if it is held out; of more than 8 million characters, every second one, or fewer."""
        self._number += 1
        if not piece.is_held_out or not self._is_drawn(self._number):
            return
        self._kept.append((self._number, piece))
        self._size += len(piece.text)
        if self._size > MOST_COMPARED:
            self._every *= 2
            self._kept = [kept for kept in self._kept if self._is_drawn(kept[0])]
            self._size = sum(len(piece.text) for _, piece in self._kept)

    def _is_drawn(self, number: int) -> bool:
        return (number * 2654435761 >> 16) % self._every == 0  # at no regular distance, which the text may have, too

    def add(self, pieces: Sequence[SidedText]) -> None:
        """Look for the training text among some pieces in the held-out text."""
        kept = [piece for piece in pieces if not piece.is_held_out]
        text = HashedText("".join(piece.text + ("\n" if piece.ends_document else "") for piece in kept))
        self._hashes[0].find(text.runs(self._run))
        self._hashes[1].find(text.lines())
        self._repeated.add(text)

    def shares(self) -> CopyShares:
        """Return what was found."""
        counts = np.zeros(5)
        for block in self._blocks:
            text = HashedText(block.text)
            is_copied, is_shared = self._copied(text)
            left = _without_remains(text, is_copied)
            is_long = text.lengths >= self._shortest
            counts += (is_copied.sum(), left.sum(), len(text), (is_shared & is_long).sum(), is_long.sum())
        copied, uncopied, letters, shared, lines = counts.tolist()
        return CopyShares(
            copied_characters=copied / max(letters, 1),
            uncopied_characters=uncopied / max(letters, 1),
            shared_lines=shared / max(lines, 1),
            repeated_lines=self._repeated.repeated(self._shortest),
        )

    def uncopied(self) -> Iterator[tuple[str, bool]]:
        """Yield what is left of the held-out text without copies, and whether it ends a document."""
        for block in self._blocks:
            text = HashedText(block.text)
            left = _without_remains(text, self._copied(text)[0])
            # White space goes with the character before it.
            is_left = np.concatenate([left[:1], left])[np.cumsum(text.is_letter)]
            begin = 0
            for end in block.ends:
                if part := _left_text(block.text[begin : end - 1], is_left[begin : end - 1]):
                    yield part, True
                begin = end
            if part := _left_text(block.text[begin:], is_left[begin:]):
                yield part, False

    @cached_property
    def _blocks(self) -> list[_Block]:
        blocks: list[_Block] = []
        parts: list[str] = []
        ends: list[int] = []
        size = 0
        for (number, piece), following in zip(self._kept, [*self._kept[1:], None], strict=True):
            is_cut = piece.ends_document or following is None or following[0] != number + 1
            parts.append(piece.text + ("\n" if is_cut else ""))
            size += len(parts[-1])
            if piece.ends_document:
                ends.append(size)
            if size > BLOCK or following is None:
                blocks.append(_Block("".join(parts), ends))
                parts, ends, size = [], [], 0
        return blocks

    @cached_property
    def _run(self) -> int:
        """Characters of the shortest run that is a copy."""
        letters = sum(not letter.isspace() for block in self._blocks for letter in block.text[:SAMPLED])
        wide = sum(letter >= IDEOGRAPHS for block in self._blocks for letter in block.text[:SAMPLED])
        return RUN_OF_IDEOGRAPHS if wide > letters / 2 else RUN

    @cached_property
    def _hashes(self) -> tuple[FoundHashes, FoundHashes]:
        """Return the hashes of the runs and of the lines of the held-out text."""
        runs, lines = [], []
        for block in self._blocks:
            text = HashedText(block.text)
            runs.append(text.runs(self._run))
            lines.append(text.lines())
            self._repeated.add(text)
        return FoundHashes(runs), FoundHashes(lines)

    @cached_property
    def _shortest(self) -> int:
        """Characters of the shortest line that counts as a copy."""
        lengths = np.sort(
            np.concatenate([np.zeros(0, int), *(HashedText(block.text).lengths for block in self._blocks)])
        )
        if not lengths.size:
            return SHORTEST
        sums = np.cumsum(lengths)
        usual = lengths[np.searchsorted(sums, sums[-1] / 2)]  # half of the text is in lines at most so long
        return int(np.clip(usual // 2, 1, SHORTEST))

    def _copied(self, text: HashedText) -> tuple[np.ndarray, np.ndarray]:
        """Return which characters of a held-out text are copies, and which of its lines training has as a whole."""
        runs, lines = self._hashes
        is_copied = _covered(runs.were_found(text.runs(self._run)), self._run, len(text))
        is_shared = lines.were_found(text.lines())
        if is_shared.size:  # a long line is cut where a section ends, and is compared by its runs
            parts = np.add.reduceat(is_copied, text.bounds[:-1], dtype=np.int64)
            is_shared = is_shared | (text.lengths >= LONG) & (parts > NEARLY * text.lengths)
        counts = is_shared & (text.lengths >= self._shortest)
        return is_copied | np.repeat(counts, text.lengths), is_shared


def _covered(is_begin: np.ndarray, size: int, count: int) -> np.ndarray:
    """Return which of `count` characters are in a run of a size that begins where `is_begin`, bool (count,)."""
    change = np.zeros(count + 1, np.int32)
    begins = np.flatnonzero(is_begin)
    change[begins] += 1
    change[begins + size] -= 1
    return np.cumsum(change)[:count] > 0


def _without_remains(text: HashedText, is_copied: np.ndarray) -> np.ndarray:
    """Return which characters are left without copies, but for the few between two copies: such as a changed word."""
    if not len(text):
        return ~is_copied
    bounds = np.flatnonzero(np.diff(is_copied, prepend=~is_copied[:1], append=~is_copied[-1:]))
    is_long = np.repeat(np.diff(bounds) >= RUN_OF_IDEOGRAPHS, np.diff(bounds))
    is_whole = np.repeat(~np.logical_or.reduceat(is_copied, text.bounds[:-1]), text.lengths)
    return ~is_copied & (is_long | is_whole)


def _left_text(text: str, is_left: np.ndarray) -> str:
    """Return the parts of a text that are left, each on separate lines."""
    if is_left.all():
        return text
    bounds = np.flatnonzero(np.diff(is_left, prepend=False, append=False)).reshape(-1, 2).tolist()
    parts = [text[begin:end] for begin, end in bounds]
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)
