"""What a user asks to see, checked: the page is local, but what is pasted into it may be anything."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from keras_transformers.analysis.attention.ablation import Head

MOST_CHARACTERS = 20_000
MOST_TOKENS = 512  # maps of all heads grow with the square of the length: these take 0.2 GB in a model of 12 x 12
MOST_NEW_TOKENS = 100


class Request(NamedTuple):
    """What is to be read, and how.

    Args:
        text: To read; of language models the beginning of a text.
        pair: A second text, where the task takes one.
        without: Heads that are off.
        new_tokens: How many tokens a language model writes.
        temperature: Of these; 0 for the likeliest ones.
        seed: Of these.
    """

    text: str
    pair: str | None = None
    without: tuple[Head, ...] = ()
    new_tokens: int = 0
    temperature: float = 0.0
    seed: int = 0

    def checked(self) -> Request:
        """Return the same.

        Raises:
            ValueError: A text is empty, too long or has characters that no keyboard writes, or a number is out of
                range.

        Example:

        >>> Request("a fine film").checked().text
        'a fine film'
        """
        check_text("the text", self.text)
        if self.pair is not None:
            check_text("the second text", self.pair)
        if not 0 <= self.new_tokens <= MOST_NEW_TOKENS:
            raise ValueError(f"new tokens are 0 to {MOST_NEW_TOKENS}: received {self.new_tokens}.")
        if not 0 <= self.temperature <= 5:
            raise ValueError(f"a temperature is 0 to 5: received {self.temperature}.")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"a seed is 0 to {2**32 - 1}: received {self.seed}.")
        return self


def check_text(name: str, text: object) -> None:
    """A `ValueError` for what cannot be read and shown as a text."""
    if not isinstance(text, str):
        raise ValueError(f"{name} must be a str: received {type(text).__name__}.")
    if not text.strip():
        raise ValueError(f"{name} is empty: write a sentence.")
    if len(text) > MOST_CHARACTERS:
        raise ValueError(
            f"{name} has {len(text):,} characters: at most {MOST_CHARACTERS:,} can be explored. Take a part of it."
        )
    for place, character in enumerate(text):
        # Cc: control characters; Cs: halves of a pair of UTF-16, which no encoding writes.
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\r\t":
            raise ValueError(
                f"{name} has the control character U+{ord(character):04X} at place {place}: remove it; line breaks and "
                "tabs may stay."
            )
