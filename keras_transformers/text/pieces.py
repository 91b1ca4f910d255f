"""What each token adds to a decoded text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import tokenizers

from keras_transformers.text.byte_pair import byte_letters

ANCHOR = "a"  # a token on either side, so that no decoder takes the one between for the first or the last
BYTE = re.compile("<0x([0-9A-F]{2})>")


def token_bytes(library: tokenizers.Tokenizer) -> list[bytes]:
    """For each id the bytes that it adds in mid-sentence; none for special tokens and ids that are not in use."""
    added = library.get_added_tokens_decoder()
    pieces = [b""] * (max(library.get_vocab().values()) + 1)
    spell = _speller(library)
    for token, i in library.get_vocab().items():
        pieces[i] = b"" if i in added and added[i].special else spell(token)
    return pieces


def _speller(library: tokenizers.Tokenizer) -> Any:
    kinds = {decoder["type"] for decoder in _decoders(json.loads(library.to_str())["decoder"])}
    join = library.decoder.decode if library.decoder else " ".join
    before, after = join([ANCHOR]), join([ANCHOR, ANCHOR])[len(ANCHOR) :]
    letters = byte_letters() if "ByteLevel" in kinds else {}

    def spell(token: str) -> bytes:
        if letters:
            return bytes(letters[letter] for letter in token) if letters.keys() >= set(token) else token.encode()
        byte = BYTE.fullmatch(token) if "ByteFallback" in kinds else None
        text = join([ANCHOR, token, ANCHOR])
        return bytes([int(byte[1], 16)]) if byte else text[len(before) : len(text) - len(after)].encode()

    return spell


def _decoders(decoder: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """The decoders of a "Sequence" one by one, whatever its depth; none of None."""
    if decoder and decoder["type"] == "Sequence":
        for part in decoder["decoders"]:
            yield from _decoders(part)
    elif decoder:
        yield decoder
