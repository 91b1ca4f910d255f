"""The normaliser of a SentencePiece model, "precompiled": rules, each a string and its replacement, in a double array.

A file of it holds the size of the array in bytes, the array, and the replacements, each ended by a zero byte. The array
is that of https://github.com/s-yata/darts-clone: a unit of 32 bits for each node of a trie over bytes.
"""

from __future__ import annotations

import numpy as np

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
    found: dict[bytes, int] = {}
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
            found[keys[i]] = int(units[bases[i]] & VALUE)
    return found
