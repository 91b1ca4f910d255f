"""One encoded text: its ids, and where they came from."""

from __future__ import annotations

from dataclasses import dataclass

import tokenizers


@dataclass(frozen=True)
class Encoded:
    """One encoded text (or one window of it, with a stride). Lists are made when asked for: they cost more than ids."""

    encoding: tokenizers.Encoding
    row: int  # which of the texts this is

    @property
    def ids(self) -> list[int]:
        return self.encoding.ids

    @property
    def segment_ids(self) -> list[int]:
        return self.encoding.type_ids

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) of every token in characters of its own text; (0, 0) for special tokens."""
        return self.encoding.offsets

    @property
    def special_mask(self) -> list[int]:
        """1 for the tokens that the template added."""
        return self.encoding.special_tokens_mask

    @property
    def word_ids(self) -> list[int | None]:
        """The word of its text that each token belongs to; None for special tokens."""
        return self.encoding.word_ids

    @property
    def truncated(self) -> bool:
        return bool(self.encoding.overflowing)
