"""Streaming: the pieces of a growing text, each of which can be shown at once."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator


def pieces_of(contents: Iterable[bytes], longest_stop: int) -> Iterator[str]:
    """Yield the new part of each content; the pieces are whole characters, and together the text.

    Args:
        contents: The bytes of the text so far, after each token. The last one ends before its stop string, if any.
        longest_stop: Bytes of the longest stop string, 0 for none: bytes that may begin one are held back.

    Example:

    >>> list(pieces_of(["ä".encode()[:1], "ä b".encode(), "ä b".encode()], 2))
    ['ä ', 'b']
    """
    held = max(longest_stop - 1, 0)
    decoder, content, sent = codecs.getincrementaldecoder("utf-8")("replace"), b"", 0
    for content in contents:
        until = max(sent, len(content) - held)
        if piece := decoder.decode(content[sent:until]):
            yield piece
        sent = until
    if piece := decoder.decode(content[sent:], final=True):
        yield piece
