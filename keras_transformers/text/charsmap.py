"""The normaliser of a SentencePiece model, "precompiled": rules, each a string and its replacement, in a double array.

A file of it holds the size of the array in bytes, the array, and the replacements, each ended by a zero byte. The array
is that of https://github.com/s-yata/darts-clone: a unit of 32 bits for each node of a trie over bytes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tokenizers import normalizers

LABEL, HAS_VALUE, VALUE = 0x800000FF, 1 << 8, 0x7FFFFFFF


def rules(charsmap: bytes, longest: int) -> dict[str, str]:
    """The rules of a precompiled normaliser for strings of at most so many bytes of UTF-8."""
    size = int.from_bytes(charsmap[:4], "little")
    if size % 4 or not 0 < size <= len(charsmap) - 4:
        raise ValueError(
            f"The precompiled normaliser has {len(charsmap)} bytes, and says that {size} of them are its trie. It is "
            "broken: copy or download the model again."
        )
    units, texts = np.frombuffer(charsmap, "<u4", size // 4, 4).astype(np.int64), charsmap[4 + size :]
    try:
        return {key.decode(): texts[at : texts.index(0, at)].decode() for key, at in _walk(units, longest).items()}
    except ValueError as error:  # UnicodeDecodeError, too
        raise ValueError(
            f"The precompiled normaliser has a rule that is no text: {error}. Copy the model again."
        ) from None


def _walk(units: np.ndarray, longest: int) -> dict[bytes, int]:
    """Key to value, level by level."""
    labels, offsets = units & LABEL, (units >> 10) << ((units & (1 << 9)) >> 6)
    nodes = np.flatnonzero((labels > 0) & (labels < 256))
    parents = nodes ^ labels[nodes]  # where the children of a node would lie if their labels were 0
    order = np.argsort(parents, kind="stable")
    nodes, parents = nodes[order], parents[order]
    values: dict[bytes, int] = {}
    keys, bases = [b""], offsets[:1]
    for _ in range(longest):
        first, stop = (np.searchsorted(parents, bases, side) for side in ("left", "right"))
        parent = np.repeat(np.arange(len(bases)), stop - first)
        children = nodes[
            np.concatenate([np.arange(i, j) for i, j in zip(first, stop, strict=True)] or [[]]).astype(int)
        ]
        keys = [keys[i] + bytes([letter]) for i, letter in zip(parent.tolist(), labels[children].tolist(), strict=True)]
        bases = children ^ offsets[children]
        for i in np.flatnonzero(units[children] & HAS_VALUE).tolist():
            values[keys[i]] = int(units[bases[i]] & VALUE)
    return values


def rules_of(rewrite: Callable[[str], str]) -> dict[str, str]:
    """Rules that do what a normaliser does to single characters, and to letters with their marks apart.

    Hangul in parts is left out, and so are marks in another than the canonical order: normalisers of SentencePiece
    leave them, too.
    """
    decompose, compose = normalizers.NFD().normalize_str, normalizers.NFC().normalize_str
    apart = {decompose(character) for character in _changed(decompose) if not "\uac00" <= character <= "\ud7a3"}
    apart |= {compose(text[:-1]) + text[-1] for text in apart if len(text) > 1}
    rewritten = {text: rewrite(text) for text in [*_changed(rewrite), *sorted(text for text in apart if len(text) > 1)]}
    return {text: other for text, other in rewritten.items() if text != other}


def _changed(rewrite: Callable[[str], str], block: int = 256) -> list[str]:
    """The characters that a normaliser changes, and some that it does not: whole blocks are asked for at once."""
    blocks = ("".join(map(chr, range(max(begin, 1), begin + block))) for begin in range(0, 0x110000, block))
    texts = (text for text in blocks if not 0xD800 <= ord(text[0]) < 0xE000)
    return [character for text in texts if rewrite(text) != text for character in text]


def compile_rules(rules: dict[str, str]) -> bytes:
    """The precompiled normaliser of these rules."""
    texts = dict.fromkeys(rules.values())
    begins = np.cumsum([0, *(len(text.encode()) + 1 for text in texts)])[:-1].tolist()
    places = dict(zip(texts, begins, strict=True))
    units = _double_array({key.encode(): places[text] for key, text in rules.items()})
    return units.nbytes.to_bytes(4, "little") + units.tobytes() + b"".join(text.encode() + b"\0" for text in texts)


def _double_array(values: dict[bytes, int]) -> np.ndarray:
    """Give each node of the trie a base: the child of label c lies at base ^ c, a value at the base itself."""
    trie: dict[int, dict] = {}
    for key, value in values.items():
        node = trie
        for letter in key:
            node = node.setdefault(letter, {})
        node[0] = value
    units, bases, waiting = {0: 0}, {0}, [(0, trie)]
    free = [1] * 257  # where to begin to search, by number of children: what lies before is not searched again
    while waiting:
        place, node = waiting.pop()
        least, at = min(node), free[len(node)]
        while (base := at ^ least) in bases or base == place or any(base ^ letter in units for letter in node):
            at += 1
        free[len(node)] = at
        bases.add(base)
        units[place] |= (place ^ base) << 10 | (HAS_VALUE if 0 in node else 0)
        units |= {base ^ letter: letter for letter in node if letter}
        if 0 in node:
            units[base] = ~VALUE & 0xFFFFFFFF | node[0]
        waiting += [(base ^ letter, child) for letter, child in node.items() if letter]
    array = np.full((max(units) // 256 + 1) * 256, ~VALUE & 0xFFFFFFFF, "<u4")
    array[list(units)] = list(units.values())
    return array
