"""Ids by one look-up a text, for tokenizers whose tokens are single bytes or single characters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from keras_transformers.text.tokenizer import Tokenizer

# What a tokenizer.json has whose tokens are bytes, or characters; other entries do not change the ids.
BYTES: Mapping[str, Mapping[str, Any]] = {
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
    "model": {
        "type": "BPE", "merges": [], "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "byte_fallback": False, "ignore_merges": False,
    },
}  # fmt: skip
CHARACTERS: Mapping[str, Mapping[str, Any]] = {
    "pre_tokenizer": {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": False},
    "model": {"type": "WordLevel"},
}
# Characters whose UTF-8 has every byte that UTF-8 has; the surrogates are none.
OF_ALL_BYTES = [*range(0x800), *range(0x800, 0xD800, 0x800), *range(0xE000, 0x10000, 0x800)]
OF_ALL_BYTES += range(0x10000, 0x110000, 0x10000)
BEGIN = 8  # characters of an added token that are searched for: T5's hundred sentinels begin alike
NONE = -1


class IdTable:
    """The ids of texts by a table of bytes or characters: the library's, but a corpus takes a fifteenth of the time.

    Use it where many texts become ids and nothing else is asked of them. `of` makes one where the tokenizer allows it.

    Args:
        tokenizer: Tokenizer whose tokens are single bytes or single characters.
        encoding: `"utf-8"`, whose units are bytes; or `"utf-32-le"`, whose units are characters.
        characters: Code points whose encodings have every unit that is known.

    Example:

    >>> table = IdTable.of(Tokenizer.train([], model="bytes"))
    >>> table.look_up(["é"])[0].tolist(), table.look_up(["a<|endoftext|>"])
    ([196, 170], [None])
    """

    def __init__(self, tokenizer: Tokenizer, encoding: str, characters: Sequence[int]):
        self._tokenizer, self._encoding = tokenizer, encoding
        self._unit = np.dtype(np.uint8 if encoding == "utf-8" else "<u4")
        added = json.loads(tokenizer.to_json(pretty=False))["added_tokens"]
        self._begins = sorted({token["content"][:BEGIN] for token in added})
        texts = [text for text in map(chr, characters) if not self._may_hold_added(text)]
        units = [self._units(text) for text in texts]
        rows = self._by_library(texts)
        if [*map(len, rows)] != [*map(len, units)]:
            raise ValueError("the tokens are not single units of text.")
        places, ids = np.concatenate(units), np.concatenate(rows)  # (U,) both
        self._ids = np.full(int(places.max()) + 2, NONE)  # the last one is that of all larger units
        self._ids[places] = ids
        if (self._ids[places] != ids).any():
            raise ValueError("a unit of text has several ids.")

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> IdTable | None:
        """Return the table of a tokenizer; None if its tokens are not single bytes or characters.

        Example:

        >>> IdTable.of(Tokenizer.train(["a fine film"], 280, model="byte_pair")) is None
        True
        """
        pipeline = json.loads(tokenizer.to_json(pretty=False))
        try:
            if _has(pipeline, BYTES):
                return cls(tokenizer, "utf-8", OF_ALL_BYTES)
            if _has(pipeline, CHARACTERS):
                known = [ord(token) for token in pipeline["model"]["vocab"] if len(token) == 1]
                return cls(tokenizer, "utf-32-le", known)
        except ValueError:  # the library gives other ids than this form lets expect
            pass
        return None

    def look_up(self, texts: Sequence[str]) -> list[np.ndarray | None]:
        """Return the ids of each text, without special tokens around it.

        Args:
            texts: B strings.

        Returns:
            B arrays int64 (T,). None for a text that the tokenizer must cut itself, as it may hold an added token or
            holds what the vocabulary lacks.

        Raises:
            ValueError: The first of these texts has other ids by the library, which no text should.
        """
        rows = [self._row(text) for text in texts]
        first = next(((text, row) for text, row in zip(texts, rows, strict=True) if row is not None), None)
        if first is not None and self._by_library([first[0]])[0] != first[1].tolist():
            raise ValueError(
                "The `tokenizers` library gives other ids for a text than its vocabulary of single "
                f"{'bytes' if self._encoding == 'utf-8' else 'characters'} does. Report it, with the versions that "
                "python -m zoo environment prints."
            )
        return rows

    def _row(self, text: str) -> np.ndarray | None:
        if self._may_hold_added(text):
            return None
        try:
            units = self._units(text)  # (T,)
        except UnicodeEncodeError:  # a lone surrogate, which the tokenizer refuses
            return None
        ids = np.take(self._ids, units, mode="clip")  # (T,)
        return None if ids.size and ids.min() == NONE else ids

    def _may_hold_added(self, text: str) -> bool:
        return any(begin in text for begin in self._begins)

    def _units(self, text: str) -> np.ndarray:
        return np.frombuffer(text.encode(self._encoding), self._unit)

    def _by_library(self, texts: Sequence[str]) -> list[list[int]]:
        return [row.ids for row in self._tokenizer.encode(texts, special_tokens=False)]


def encoded_ids(tokenizer: Tokenizer, table: IdTable | None, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, Any]]:
    """Yield the ids of each text, and its `Encoded`; None for the latter where the table gave the ids.

    Args:
        tokenizer: Cuts the texts that the table does not know.
        table: Id table of the tokenizer, or None.
        texts: B strings.

    Example:

    >>> tokenizer = Tokenizer.train(["abc"], model="character", special_tokens=["<unk>"])
    >>> [(ids.tolist(), row is None) for ids, row in encoded_ids(tokenizer, IdTable.of(tokenizer), ["cab", "dab"])]
    [([3, 1, 2], True), ([0, 1, 2], False)]
    """
    rows: list[Any] = table.look_up(texts) if table else [None] * len(texts)
    others = [text for text, ids in zip(texts, rows, strict=True) if ids is None]
    encoded = iter(tokenizer.encode(others, special_tokens=False) if others else ())
    for ids in rows:
        row = next(encoded) if ids is None else None
        yield np.array(row.ids, np.int64) if row is not None else ids, row


def _has(pipeline: Mapping[str, Any], form: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a tokenizer.json has the entries of a form, and changes no text before it is cut."""
    parts = {name: pipeline[name] or {} for name in form}
    is_same = all(parts[name].get(key) == value for name in form for key, value in form[name].items())
    return is_same and pipeline["normalizer"] is None
