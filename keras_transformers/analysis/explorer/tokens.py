"""Names of tokens on the page."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from keras_transformers.text.tokenizer import Tokenizer

SIGNS = {" ": "␣", "▁": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"}
JOINERS = "\u200c\u200d"  # inside words and pictures


class Tokens(NamedTuple):
    """The tokens of one side of an attention map.

    Args:
        names: Names of the tokens on the page.
        special: Whether each is special, such as `[CLS]`.
    """

    names: tuple[str, ...]
    special: tuple[bool, ...]


def shown(tokenizer: Tokenizer, ids: Sequence[int]) -> Tokens:
    """Return tokens with their names on the page, in which spaces are visible.

    Example:

    >>> tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair")
    >>> "".join(shown(tokenizer, tokenizer.encode(["a film"])[0].ids).names)
    'a␣film'
    """
    special = set(tokenizer.special_ids)
    return Tokens(tuple(_name(tokenizer, int(number)) for number in ids), tuple(int(i) in special for i in ids))


def _name(tokenizer: Tokenizer, number: int) -> str:
    if number >= tokenizer.vocabulary_size:  # a row of the embedding that belongs to no token
        return f"#{number}"
    name, stored = tokenizer.decode([number], skip_special_tokens=False), tokenizer.id_to_token(number)
    # A part of a character decodes to no text, and decoding drops a space at the beginning.
    name = stored if not name or "\ufffd" in name or stored.startswith("▁") else name
    return "".join(sign(character, alone=len(name) == 1) for character in name)


def sign(character: str, alone: bool) -> str:
    """Return a visible sign for a character that is hidden or changes the direction of writing; others unchanged."""
    is_hidden = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and (alone or character not in JOINERS)
    return f"U+{ord(character):04X}" if is_hidden and character not in SIGNS else SIGNS.get(character, character)
