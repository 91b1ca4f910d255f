"""An encoded text: its token ids, and their positions in the text."""

from __future__ import annotations

from dataclasses import dataclass, replace

import tokenizers


@dataclass(frozen=True)
class Encoded:
    """One encoded text, or one window of it. Lists are built on access, since building all of them is slow."""

    encoding: tokenizers.Encoding
    row: int  # index of the text in the batch
    has_types: bool = True  # whether tokens have segments; all are 0 if not
    side: str = "right"  # on which a long text is cut
    dropped: tuple[int, int] = (0, 0)  # half-open range of the encoding that is left out: see `with_first`

    @property
    def ids(self) -> list[int]:
        return self._kept(self.encoding.ids)

    @property
    def segment_ids(self) -> list[int]:
        return self._kept(self.encoding.type_ids if self.has_types else [0] * len(self.encoding))

    @property
    def sequence_ids(self) -> list[int | None]:
        """0 for tokens of the first text, 1 for the second, independent of segments; None for special tokens.

        The library gives contexts None in all windows but the first if there is no post-processor.
        """
        found = zip(self.encoding.sequence_ids, self.encoding.word_ids, strict=True)
        return self._kept([1 if text is None and word is not None else text for text, word in found])

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) of each token, in characters of its text; (0, 0) for special tokens."""
        return self._kept(self.encoding.offsets)

    @property
    def special_mask(self) -> list[int]:
        """1 for tokens that the template added, else 0."""
        return self._kept(self.encoding.special_tokens_mask)

    @property
    def word_ids(self) -> list[int | None]:
        """Index of the word that each token belongs to; None for special tokens."""
        return self._kept(self.encoding.word_ids)

    @property
    def truncated(self) -> bool:
        return bool(self.encoding.overflowing)

    def with_first(self, count: int) -> Encoded:
        """Return the encoding with only `count` tokens of the first text of a pair."""
        own = [place for place, text in enumerate(self.encoding.sequence_ids) if text == 0]
        if count >= len(own):
            return self
        dropped = (own[count], own[-1] + 1) if self.side == "right" else (own[0], own[-count])
        return replace(self, dropped=dropped)

    def _kept(self, values: list) -> list:
        del values[slice(*self.dropped)]
        return values
