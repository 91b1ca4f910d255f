"""What each token adds to a decoded text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import tokenizers
from tokenizers import decoders

from keras_transformers.text.byte_pair import letters_to_bytes
from keras_transformers.text.pipeline import component, parts

ANCHOR = "a"  # a token that stands beside another, so that no decoder takes that one for the first or the last
LAST_SPACE = r" \z"  # the decoder Strip would do, if the library did not panic at an empty text
BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")


def token_bytes(library: tokenizers.Tokenizer) -> list[bytes]:
    """For each id the bytes that it adds in mid-sentence; none for special tokens and ids that are not in use."""
    spell = speller(json.loads(library.to_str())["decoder"], False, False)
    pieces = [b""] * (max(library.get_vocab().values()) + 1)
    for i, token in text_tokens(library).items():
        pieces[i] = spell(token)
    return pieces


def text_tokens(library: tokenizers.Tokenizer) -> dict[int, str]:
    """Id to token, of all that are not special; added tokens normalised where the library decodes them so."""
    special = {i for i, token in library.get_added_tokens_decoder().items() if token.special}
    return {i: library.id_to_token(i) for i in library.get_vocab().values() if i not in special}


def speller(decoder: dict[str, Any] | None, first: bool, last: bool) -> Callable[[str], bytes]:
    """A function: what the "decoder" of a tokenizer.json makes of a token at the beginning, inside or at the end.

    A token that stands for a byte is that byte.
    """
    steps = parts(decoder)
    kinds = {step["type"] for step in steps}
    if "ByteLevel" in kinds:
        return lambda token: letters_to_bytes(token) or token.encode()
    join = _joiner([step for step in steps if step["type"] != "ByteFallback"]) if decoder else " ".join
    before, behind = [] if first else [ANCHOR], [] if last else [ANCHOR]
    one, two = join([ANCHOR]), join([ANCHOR, ANCHOR])
    begin, cut = 0 if first else len(one), 0 if last else len(two) - len(one)

    def spell(token: str) -> bytes:
        byte = BYTE.fullmatch(token) if "ByteFallback" in kinds else None
        text = join([*before, token, *behind])
        return bytes([int(byte[1], 16)]) if byte else text[begin : len(text) - cut].encode()

    return spell


def _joiner(steps: list[dict[str, Any]]) -> Callable[[list[str]], str]:
    return component(decoders.Sequence([]), {"type": "Sequence", "decoders": steps}).decode
