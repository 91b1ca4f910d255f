"""How much longer a tokenizer may make a text: a few steps that each repeat what the last one gave fill any memory."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import tokenizers

from keras_transformers.text.components import parts

MOST = 10_000  # times
PARTS = ("normalizer", "pre_tokenizer", "decoder")


def check_growth(library: tokenizers.Tokenizer, path: str | Path) -> None:
    """Refuse a tokenizer whose steps may make a text more than `MOST` times as long.

    Args:
        library: The tokenizer.
        path: Where it comes from, for the error.

    Raises:
        ValueError: Each step may do what it does to what the step before has given: together they may make a text too
            long to hold.

    Example:

    >>> library = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}))
    >>> library.normalizer = tokenizers.normalizers.Replace("a", "aaaa")
    >>> check_growth(library, "tokenizer.json")
    """
    for name in PARTS:
        component = getattr(library, name)
        growth = 1
        for step in parts(json.loads(component.__getstate__())) if component else []:
            growth *= _growth(step)
        if growth > MOST:
            raise ValueError(
                f"{path}: the steps of the {name} may make a text {growth:,} times as long: it may be malicious. "
                f"Expected at most {MOST:,} times."
            )


def _growth(step: dict[str, Any]) -> int:
    """Return how many characters a step may write for one: of those steps that may, and again for what they have
    written.
    """
    if step["type"] == "Replace":
        return max(1, len(step["content"]))
    if step["type"] == "ByteLevel":
        return 2
    if step["type"] == "Precompiled":
        return _longest(base64.b64decode(step["precompiled_charsmap"] or ""))
    return 1


def _longest(charsmap: bytes) -> int:
    """Return the length of the longest replacement: see `text.charsmap`. The library has checked the sizes."""
    size = int.from_bytes(charsmap[:4], "little")
    return max(1, *(len(rule.decode("utf-8", "replace")) for rule in charsmap[4 + size :].split(b"\0")))
