"""Requests of the page, which are untrusted input: the page is local, but any text may be pasted into it."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from keras_transformers.analysis.attention.ablation import Head

MOST_CHARACTERS = 20_000
MOST_TOKENS = 512  # maps of all heads grow with the square of the length: these take 0.2 GB in a model of 12 x 12
MOST_NEW_TOKENS = 100


class Request(NamedTuple):
    """A text to read, with the heads to switch off and the sampling parameters.

    Args:
        text: The text; for language models the beginning of one.
        pair: A second text, if the task takes one.
        without: Heads that are switched off.
        new_tokens: Number of tokens that a language model writes.
        temperature: Sampling temperature of the new tokens; 0 for the likeliest ones.
        seed: Random seed for the new tokens.
    """

    text: str
    pair: str | None = None
    without: tuple[Head, ...] = ()
    new_tokens: int = 0
    temperature: float = 0.0
    seed: int = 0

    def checked(self) -> Request:
        """Check the request and return it.

        Raises:
            ValueError: A text is empty, too long or has control characters, or a number is out of range.

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
    """Raise a `ValueError` if a value cannot be read and shown as a text."""
    if not isinstance(text, str):
        raise ValueError(f"{name} must be a str: received {type(text).__name__}.")
    if not text.strip():
        raise ValueError(f"{name} is empty: write a sentence.")
    if len(text) > MOST_CHARACTERS:
        raise ValueError(
            f"{name} has {len(text):,} characters: at most {MOST_CHARACTERS:,} can be explored. Take a part of it."
        )
    for place, character in enumerate(text):
        # Cc: control characters; Cs: surrogates, halves of a pair of UTF-16, which cannot be encoded.
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\r\t":
            raise ValueError(
                f"{name} has the control character U+{ord(character):04X} at place {place}: remove it; line breaks and "
                "tabs may stay."
            )
