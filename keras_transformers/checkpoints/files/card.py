"""Model cards (README.md) that a later save may replace: those that nobody has edited."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

SEAL = re.compile(r"\n<!-- sha256 of the text above: ([0-9a-f]{64}) -->\n?\Z")
MOST_BYTES = 1_000_000


def sealed(text: str) -> str:
    """Append the hash of a card to it, by which a later save knows that nobody has edited it.

    Example:

    >>> sealed("# My model").splitlines()[-1][:30]
    '<!-- sha256 of the text above:'
    """
    text = text.rstrip("\n")
    return f"{text}\n\n<!-- sha256 of the text above: {_digest(text)} -->\n"


def is_unedited(path: Path) -> bool:
    """Return whether a file is a card as `sealed` made it."""
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    seal = SEAL.search(text)
    return seal is not None and seal[1] == _digest(text[: seal.start()].rstrip("\n"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
