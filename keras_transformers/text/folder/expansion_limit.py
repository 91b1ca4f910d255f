"""A limit of how much longer a tokenizer makes a text: a few steps that repeat each other's output fill memory."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import tokenizers

from keras_transformers.text.pipelines.components import parts

MOST = 10_000  # times
PARTS = ("normalizer", "pre_tokenizer", "decoder")


def check_expansion(library: tokenizers.Tokenizer, path: str | Path) -> None:
    """Refuse a tokenizer whose steps can make a text more than `MOST` times as long.

    Args:
        library: The tokenizer.
        path: Origin of the settings, for the error message.

    Raises:
        ValueError: The steps, each applied to the output of the one before, can make a text too long for memory.

    Example:

    >>> library = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}))
    >>> library.normalizer = tokenizers.normalizers.Replace("a", "aaaa")
    >>> check_expansion(library, "tokenizer.json")
    """
    for name in PARTS:
        component = getattr(library, name)
        factor = 1
        for step in parts(json.loads(component.__getstate__())) if component else []:
            factor *= _factor(step)
        if factor > MOST:
            raise ValueError(
                f"{path}: the steps of the {name} may make a text {factor:,} times as long: it may be malicious. "
                f"Expected at most {MOST:,} times."
            )


def _factor(step: dict[str, Any]) -> int:
    """Return the largest number of characters that a step writes for one character."""
    if step["type"] == "Replace":
        return max(1, len(step["content"]))
    if step["type"] == "ByteLevel":
        return 2
    if step["type"] == "Precompiled":
        return _longest(base64.b64decode(step["precompiled_charsmap"] or ""))
    return 1


def _longest(charsmap: bytes) -> int:
    """Return the length of the longest replacement: see `text.sentencepiece.charsmap`. The library has checked the
    sizes.
    """
    size = int.from_bytes(charsmap[:4], "little")
    return max(1, *(len(rule.decode("utf-8", "replace")) for rule in charsmap[4 + size :].split(b"\0")))
