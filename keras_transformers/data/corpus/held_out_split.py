"""The held-out parts of a corpus: whole documents, or sections where documents are few or long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keras_transformers.text.files.text_files import TextFiles

FEWEST_DOCUMENTS = 20
PIECE = 4 << 10  # characters of one text for the tokenizer: of 16,384, it takes a third longer
SHORTEST_SECTION, LONGEST_SECTION = 4 << 10, 1 << 20  # characters
FEWEST_CHARACTERS = 1 << 10  # that a small corpus holds out where it can: a row of tokens or more
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
    def of(cls, characters: int, documents: int, share: float, seed: int) -> Split:
        """Choose the rule for a corpus.

        Args:
            characters, documents: Numbers of characters and of documents in the corpus.
            share: Share of the text to hold out, as nearly as documents or sections allow, and at most about 5 MB. For
                a small corpus in which the share is less than 1,024 characters, a section of 1,024 characters is held
                out.
            seed: Random seed for the choice of the first unit.

        Raises:
            ValueError: The corpus is too small for two sides.
        """
        if characters < 2:
            raise ValueError(f"Received a corpus of {characters} characters: expected more, to train and to hold out.")
        every = max(2, int(np.ceil(1 / share)), -(-characters // MOST_HELD_OUT))
        rng = np.random.default_rng(seed)
        if documents >= max(FEWEST_DOCUMENTS, every) and characters <= documents * LONGEST_SECTION:
            return cls(None, every, int(rng.integers(every)), PIECE)
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


def given_sides(train: TextFiles, held_out: TextFiles | None) -> Iterator[SidedText]:
    """Yield the text of files to train on, then of files that were held out, in pieces."""
    for is_held_out, files in enumerate((train, held_out)):
        for section in files.sections(PIECE) if files else ():
            yield SidedText(section.text, bool(is_held_out), section.ends_document)
