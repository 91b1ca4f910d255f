"""The precompiled normaliser of a SentencePiece model: rules (string to replacement) in a double-array trie.

Its bytes are the size of the array in bytes, the array, and the replacements, each ended by a zero byte. The array is
that of https://github.com/s-yata/darts-clone: a unit of 32 bits for each node of a trie over bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tokenizers import normalizers

LABEL, HAS_VALUE, VALUE = 0x800000FF, 1 << 8, 0x7FFFFFFF
MOST_KEYS = 1 << 20  # of one length: about as many as there are characters


def rules(charsmap: bytes, longest: int) -> dict[str, str]:
    """Return the rules of a precompiled normaliser, for strings of at most `longest` bytes of UTF-8."""
    size = int.from_bytes(charsmap[:4], "little")
    if size % 4 or not 0 < size <= len(charsmap) - 4:
        raise ValueError(
            f"The precompiled normaliser has {len(charsmap)} bytes, but its header says that its trie has {size}. "
            "It is broken: copy or download the model again."
        )
    units, pool = np.frombuffer(charsmap, "<u4", size // 4, 4).astype(np.int64), charsmap[4 + size :]
    try:
        return {key.decode(): pool[at : pool.index(0, at)].decode() for key, at in _walk(units, longest).items()}
    except (ValueError, IndexError) as error:  # UnicodeDecodeError, too
        raise ValueError(
            f"The precompiled normaliser has a rule that is not valid UTF-8 ({error}). Copy the model again."
        ) from None


def _walk(units: np.ndarray, longest: int) -> dict[bytes, int]:
    """Return key to value, for keys of at most `longest` bytes: the trie is read level by level."""
    labels, offsets = units & LABEL, (units >> 10) << ((units & (1 << 9)) >> 6)
    nodes = np.flatnonzero((labels > 0) & (labels < 256))
    origins = nodes ^ labels[nodes]  # the base that each node is addressed from: siblings share it
    order = np.argsort(origins, kind="stable")
    nodes, origins = nodes[order], origins[order]

    values: dict[bytes, int] = {}
    keys, bases = [b""], offsets[:1]
    for _ in range(longest):
        first, stop = (np.searchsorted(origins, bases, side) for side in ("left", "right"))
        if (stop - first).sum() > MOST_KEYS:
            raise ValueError("it has branches that lead back to others")
        parent = np.repeat(np.arange(len(bases)), stop - first)
        children = nodes[
            np.concatenate([np.arange(i, j) for i, j in zip(first, stop, strict=True)] or [np.array([], int)])
        ]
        keys = [keys[i] + bytes([letter]) for i, letter in zip(parent.tolist(), labels[children].tolist(), strict=True)]
        bases = children ^ offsets[children]
        for i in np.flatnonzero(units[children] & HAS_VALUE).tolist():
            values[keys[i]] = int(units[bases[i]] & VALUE)
    return values


def rules_of(rewrite: Callable[[str], str]) -> dict[str, str]:
    """Return rules for what a normaliser does to single characters, and to decomposed ones (a letter and its marks).

    Decomposed Hangul and marks in another than the canonical order get no rules: SentencePiece's normalisers leave
    them unchanged, too.
    """
    decompose, compose = normalizers.NFD().normalize_str, normalizers.NFC().normalize_str
    decomposed = {decompose(character) for character in _changed(decompose) if not "\uac00" <= character <= "\ud7a3"}
    decomposed |= {compose(text[:-1]) + text[-1] for text in decomposed if len(text) > 1}
    texts = [*_changed(rewrite), *sorted(text for text in decomposed if len(text) > 1)]
    replacements = {text: rewrite(text) for text in texts}
    return {text: replacement for text, replacement in replacements.items() if text != replacement}


def _changed(rewrite: Callable[[str], str], block: int = 256) -> list[str]:
    """Return the characters that a normaliser changes, and some unchanged ones, as blocks are tested as a whole."""
    blocks = ("".join(map(chr, range(max(begin, 1), begin + block))) for begin in range(0, 0x110000, block))
    texts = (text for text in blocks if not 0xD800 <= ord(text[0]) < 0xE000)
    return [character for text in texts if rewrite(text) != text for character in text]


def compile_rules(rules: dict[str, str]) -> bytes:
    """Return the bytes of a precompiled normaliser of these rules."""
    pool = [text.encode() + b"\0" for text in dict.fromkeys(rules.values())]
    begins = np.cumsum([0, *map(len, pool)])[:-1].tolist()
    offsets = dict(zip(dict.fromkeys(rules.values()), begins, strict=True))
    units = _double_array({key.encode(): offsets[text] for key, text in rules.items()})
    return units.nbytes.to_bytes(4, "little") + units.tobytes() + b"".join(pool)


def _double_array(values: dict[bytes, int]) -> np.ndarray:
    """Return the trie as an array. Each node has a base: its child of label c lies at base ^ c, its value at
    the base.
    """
    trie: dict[int, Any] = {}  # letters to tries, and 0 to a value
    for key, value in values.items():
        node = trie
        for letter in key:
            node = node.setdefault(letter, {})
        node[0] = value

    units, bases, pending = {0: 0}, {0}, [(0, trie)]
    free = [1] * 257  # where the search for a base begins, by number of children; it never goes back
    while pending:
        place, node = pending.pop()
        least, at = min(node), free[len(node)]
        while (base := at ^ least) in bases or base == place or any(base ^ letter in units for letter in node):
            at += 1
        free[len(node)] = at
        bases.add(base)
        units[place] |= (place ^ base) << 10 | (HAS_VALUE if 0 in node else 0)
        units |= {base ^ letter: letter for letter in node if letter}
        if 0 in node:
            units[base] = ~VALUE & 0xFFFFFFFF | node[0]
        pending += [(base ^ letter, child) for letter, child in node.items() if letter]

    array = np.full((max(units) // 256 + 1) * 256, ~VALUE & 0xFFFFFFFF, "<u4")
    array[list(units)] = list(units.values())
    return array
