"""The held-out parts of a corpus: whole documents, or sections where documents are few or long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keras_transformers.text.files.text_files import TextFiles

FEWEST_DOCUMENTS = 20
PIECE = 4 << 10  # characters of one text for the tokenizer: of 16,384, it takes a third longer
SHORTEST_SECTION, LONGEST_SECTION = 4 << 10, 1 << 20  # characters
FEWEST_CHARACTERS = 1 << 10  # that a small corpus holds out where it can: a row of tokens or more
UNLIKE = 2.0  # times the share that was asked for, or its inverse: more is not what was asked for
MOST_HELD_OUT = 5_000_000  # characters: enough for a loss to three digits


class SidedText(NamedTuple):
    """A piece of text, whether it is held out, and whether it is the last one of its document."""

    text: str
    is_held_out: bool
    ends_document: bool


@dataclass(frozen=True)
class Split:
    """A rule that holds out every `every`-th unit from number `first` on.

    Args:
        unit: Characters of a section; None if the units are documents.
        every, first: int.
        piece: Most characters of a piece of text.
    """

    unit: int | None
    every: int
    first: int
    piece: int

    @classmethod
    def of(cls, characters: int, documents: int, share: float, seed: int, lengths: Sequence[int] = ()) -> Split:
        """Choose the rule for a corpus.

        Args:
            characters, documents: Numbers of characters and of documents in the corpus.
            share: Share of the text to hold out, as nearly as documents or sections allow, and at most about 5 MB. For
                a small corpus in which the share is less than 1,024 characters, a section of 1,024 characters is held
                out.
            seed: Random seed for the choice of the first unit.
            lengths: Characters of each document; empty for very many, of which every n-th one has its share.

        Raises:
            ValueError: The corpus is too small for two sides.
        """
        if characters < 2:
            raise ValueError(f"Received a corpus of {characters} characters: expected more, to train and to hold out.")
        every = max(2, int(np.ceil(1 / share)), -(-characters // MOST_HELD_OUT))
        rng = np.random.default_rng(seed)
        if documents >= max(FEWEST_DOCUMENTS, every) and characters <= documents * LONGEST_SECTION:
            first = _fair_first(lengths, every, int(rng.integers(every)))
            if first is not None:
                return cls(None, every, first, PIECE)
        fitting = max(characters // every, min(FEWEST_CHARACTERS, characters // 2))  # one unit has the share, or more
        unit = min(max(characters // 200, SHORTEST_SECTION), LONGEST_SECTION, fitting)
        piece = PIECE if unit >= PIECE else max(unit // 4, 1)  # of a small unit, parts: where it ends is a piece's end
        surely = (characters - piece) // unit + 1  # units that a piece begins in, wherever the text is cut
        return cls(unit, every, int(rng.integers(min(every, surely))), piece)

    def pieces(self, files: TextFiles) -> Iterator[SidedText]:
        """Yield the text of a corpus in pieces, in order."""
        characters = documents = 0
        for section in files.sections(self.piece):
            number = documents if self.unit is None else characters // self.unit
            yield SidedText(section.text, number % self.every == self.first, section.ends_document)
            characters += len(section.text)
            documents += section.ends_document


def _fair_first(lengths: Sequence[int], every: int, first: int) -> int | None:
    """Return the first document to hold out, `first` or the next one with which the share is about what was asked for;
    None if it is with none, as where one document is most of the corpus.

    >>> _fair_first([5] * 40, 20, 3), _fair_first([5] * 39 + [5000], 20, 3), _fair_first([100] * 20 + [1] * 20, 20, 3)
    (3, None, 3)
    """
    if not lengths:
        return first
    shares = np.bincount(np.arange(len(lengths)) % every, lengths, every) * every / sum(lengths)
    order = np.roll(np.arange(every), -first)
    fair = order[(shares[order] * UNLIKE >= 1) & (shares[order] <= UNLIKE)]
    return int(fair[0]) if fair.size else None


def given_sides(train: TextFiles, held_out: TextFiles | None) -> Iterator[SidedText]:
    """Yield the text of files to train on, then of files that were held out, in pieces."""
    for is_held_out, files in enumerate((train, held_out)):
        for section in files.sections(PIECE) if files else ():
            yield SidedText(section.text, bool(is_held_out), section.ends_document)
