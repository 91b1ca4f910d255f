"""Choices: strings of which a generated text is exactly one, as token ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_transformers.data.sources.rows import Ragged
from keras_transformers.generation.spelling import Spelling
from keras_transformers.utils.text_checks import check_texts
from keras_transformers.utils.untrusted import shown

if TYPE_CHECKING:
    from keras_transformers.generation.decoding import Decoding
    from keras_transformers.text.tokenizer import Tokenizer

# A choice is tokenized behind one of these. Some tokenizers put a space before the first word of a text, which one in
# mid-sentence must not have; behind a line break or a full stop, which joins no word, they put none.
ANCHORS = ("", "\n", ".", "a")
PROBES = ("yes", " yes", "No", " No", "1", "a b")
NO_ID = -1  # behind the last token of a choice


class ChoiceReader:
    """A reader of choices, for every prompt the same.

    A choice has the tokens of a text in mid-sentence that ends no word and begins none: " yes" begins with a space, and
    "yes" does not, whatever the tokenizer does at the beginning of a text.

    Args:
        tokenizer: Tokenizer of the texts that the model writes.
        spelling: Text that each token adds.
        begins: Whether generated texts are complete (encoder-decoder); if not, they continue prompts.
        lead: Tokens that the checkpoint forces before a text.
    """

    def __init__(self, tokenizer: Tokenizer, spelling: Spelling, begins: bool, lead: Sequence[int] = ()):
        self.tokenizer, self.spelling, self.begins, self.lead = tokenizer, spelling, begins, [*lead]

    @cached_property
    def anchor(self) -> str:
        """Return the text behind which choices are tokenized: most probes are spelled there as they are."""
        return ANCHORS[0] if self.begins else max(ANCHORS, key=self._count_right)

    def _count_right(self, anchor: str) -> int:
        """Return the number of probes that are spelled as they are behind an anchor."""
        try:
            return sum(map(self._is_right, PROBES, self.ids_behind(anchor, PROBES)))
        except ValueError:  # a vocabulary of characters, without some of these
            return 0

    def ids_behind(self, anchor: str, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of texts behind an anchor; none where the anchor's own tokens change."""
        (before,) = self._encoded([anchor])
        rows = self._encoded([anchor + text for text in texts])
        return [row[len(before) :] if row[: len(before)] == before else [] for row in rows]

    def __call__(self, choices: Any, room: int) -> np.ndarray:
        """Return the token ids of n choices, int32 (n, L), `NO_ID` behind the last one of each.

        Args:
            choices: The strings.
            room: Tokens of a choice, at most.

        Raises:
            ValueError: There are none, one is empty, two are equal, or one is too long, or cannot be written exactly.
        """
        checked = check_texts("choices", choices)
        if not checked or not all(checked) or len({*checked}) < len(checked):
            raise ValueError(
                f"choices must be different texts that are not empty, one at least: received {shown(checked)}."
            )
        rows = self.ids_behind(self.anchor, checked)
        for choice, ids in zip(checked, rows, strict=True):
            if not self._is_right(choice, ids):
                spelled = self.spelling.text(ids).decode("utf-8", "replace")
                raise ValueError(
                    f"the choice {shown(choice)} cannot be written: the tokenizer spells it {shown(spelled)}. Give it "
                    "as the model writes it, such as in lower case."
                )
            if len(self.lead) + len(ids) > room:
                raise ValueError(
                    f"the choice {shown(choice)} has {len(ids)} tokens, and the model takes {room} beside a prompt and "
                    "the end. Shorten it."
                )
        written = Ragged.of([[*self.lead, *row] for row in rows])
        return written.padded(int(written.lengths.max()), NO_ID)

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        return [row.ids for row in self.tokenizer.encode(texts, special_tokens=False)]

    def _is_right(self, text: str, ids: list[int]) -> bool:
        """Return whether the tokens spell a text."""
        return bool(ids) and self.spelling.text(ids) == text.encode("utf-8", "replace")


def check_choice_options(
    number: int, stop: Sequence[str] | None, parameters: Mapping[str, Any], decoding: Decoding, num_sequences: int
) -> None:
    """Raise a `ValueError` if an option contradicts choices.

    Args:
        number: Number of choices; 0 for any text, which no option contradicts.
        stop, parameters: Options that were given, without the checkpoint's.
        decoding, num_sequences: How texts are decoded, and how many for each prompt.
    """
    if not number:
        return
    given = [name for name in ("max_new_tokens", "min_new_tokens") if name in parameters]
    given += ["stop"] if stop else []
    given += [decoding.guesser] if decoding.guesser else []
    if given:
        raise ValueError(f"a choice is written whole, token by token: received {', '.join(given)} too. Leave them out.")
    if decoding.num_beams > 1 and num_sequences > number:
        raise ValueError(f"beams give each choice once: received num_sequences={num_sequences} for {number} choices.")
