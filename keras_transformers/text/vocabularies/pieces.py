"""The bytes that each token adds to a decoded text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import tokenizers
from tokenizers import decoders

from keras_transformers.text.pipelines.components import component, parts
from keras_transformers.text.pipelines.library import count_ids
from keras_transformers.text.vocabularies.byte_pair_vocabulary import letters_to_bytes

ANCHOR = "a"  # a neighbour for a token, which is then neither the first nor the last for a decoder
LAST_SPACE = r" \z"  # drops one space at the end; the decoder Strip would panic at an empty text
BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")


def token_bytes(library: tokenizers.Tokenizer, first: bool = False, last: bool = False) -> list[bytes]:
    """Return for each id the bytes that it adds to a text; b"" for special tokens and unused ids.

    Args:
        library: The tokenizer.
        first, last: Whether the token is the first, and the last, of the text; in mid-sentence it is neither.

    Raises:
        ValueError: The decoder may need more than one token to know how a text begins or ends.
    """
    per_token, strips = around_fuse(json.loads(library.to_str())["decoder"])
    spell = speller(per_token, first, last)
    pieces = [b""] * count_ids(library)
    for i, token in text_tokens(library).items():
        pieces[i] = _strip(spell(token), strips, first, last)
    return pieces


def around_fuse(decoder: dict[str, Any] | None) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Split a "decoder" at "Fuse": the part that decodes single tokens, and the steps that take the whole text."""
    steps = parts(decoder)
    fuse = next((place for place, step in enumerate(steps) if step["type"] == "Fuse"), len(steps))
    return decoder and {"type": "Sequence", "decoders": steps[:fuse]}, steps[fuse + 1 :]


def strip_limits(step: dict[str, Any]) -> tuple[str, int, int] | None:
    """Return what a decoder drops: (content, most at the start, most at the end of a text); None for other decoders."""
    if step["type"] == "Strip":
        return step["content"], step["start"], step["stop"]
    return (" ", 0, 1) if step == {"type": "Replace", "pattern": {"Regex": LAST_SPACE}, "content": ""} else None


def _strip(content: bytes, strips: list[dict[str, Any]], first: bool, last: bool) -> bytes:
    """Strip a token at an end of the text; raise if it may be more than one character, as tokens may be shorter."""
    for step in strips if first or last else []:
        text, start, stop = strip_limits(step) or ("", 2, 2)
        if max(start * first, stop * last) > 1:
            raise ValueError(
                f"The decoder {step} after Fuse needs a whole text. Generation token by token needs a decoder that "
                "drops at most one character at an end."
            )
        content = content.removeprefix(text.encode()) if first and start else content
        content = content.removesuffix(text.encode()) if last and stop else content
    return content


def text_tokens(library: tokenizers.Tokenizer) -> dict[int, str]:
    """Return id to token, without special tokens; added tokens are normalised if the library decodes them so."""
    special = {i for i, token in library.get_added_tokens_decoder().items() if token.special}
    # Not the names in `get_vocab`: those of added tokens are as they were before the normaliser.
    ids = (i for i in library.get_vocab().values() if i not in special)
    return {i: token for i in ids if (token := library.id_to_token(i)) is not None}


def speller(decoder: dict[str, Any] | None, first: bool, last: bool) -> Callable[[str], bytes]:
    """Return a function from a token to the bytes that it is decoded to at the start, inside or at the end of a text.

    A token of a byte gives that byte. `decoder` is the "decoder" of a tokenizer.json.
    """
    steps = parts(decoder)
    kinds = {step["type"] for step in steps}
    if "ByteLevel" in kinds:
        return lambda token: letters_to_bytes(token) or token.encode()
    join = _joiner([step for step in steps if step["type"] != "ByteFallback"]) if decoder else " ".join

    before, after = [] if first else [ANCHOR], [] if last else [ANCHOR]
    one, two = join([ANCHOR]), join([ANCHOR, ANCHOR])
    length_before, length_after = 0 if first else len(one), 0 if last else len(two) - len(one)

    def spell(token: str) -> bytes:
        byte = BYTE.fullmatch(token) if "ByteFallback" in kinds else None
        text = join([*before, token, *after])
        return bytes([int(byte[1], 16)]) if byte else text[length_before : len(text) - length_after].encode()

    return spell


def _joiner(steps: list[dict[str, Any]]) -> Callable[[list[str]], str]:
    return component(decoders.Sequence([]), {"type": "Sequence", "decoders": steps}).decode
