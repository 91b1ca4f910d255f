"""One encoded text: its token ids, and their places in the text."""

from __future__ import annotations

from dataclasses import dataclass

import tokenizers


@dataclass(frozen=True)
class Encoded:
    """One encoded text, or one window of it. Lists are built on access, since building all of them is slow."""

    encoding: tokenizers.Encoding
    row: int  # index of the text in the batch

    @property
    def ids(self) -> list[int]:
        return self.encoding.ids

    @property
    def segment_ids(self) -> list[int]:
        return self.encoding.type_ids

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) of each token, in characters of its text; (0, 0) for special tokens."""
        return self.encoding.offsets

    @property
    def special_mask(self) -> list[int]:
        """1 for tokens that the template added, else 0."""
        return self.encoding.special_tokens_mask

    @property
    def word_ids(self) -> list[int | None]:
        """Index of the word that each token belongs to; None for special tokens."""
        return self.encoding.word_ids

    @property
    def truncated(self) -> bool:
        return bool(self.encoding.overflowing)
