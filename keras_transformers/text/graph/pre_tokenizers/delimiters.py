"""Pre-tokenisers as ops that split at delimiters: punctuation marks, or a string."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import TOKEN, PointTable, shipped
from keras_transformers.text.graph.streams.matches import Matches, find_string, matches_of_one
from keras_transformers.text.graph.streams.probe import PUNCTUATION
from keras_transformers.text.graph.streams.streams import Stream, keep, shift
from keras_transformers.text.pipelines.components import refuse

LONGEST = 64  # characters of a delimiter: each takes a few ops


class Punctuation(tf.Module):
    """The pre-tokeniser Punctuation: each punctuation mark is a delimiter."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.is_mark = PointTable(shipped()["split"] == PUNCTUATION)
        self.behavior = config["behavior"]

    def __call__(self, points: Stream, starts: tf.Tensor) -> tuple[Stream, tf.Tensor]:
        return split_at(points, starts, matches_of_one(self.is_mark(points.values) > 0), self.behavior)


class Delimiter(tf.Module):
    """The pre-tokenisers Split and CharDelimiterSplit: a string is the delimiter.

    In Gemma's tokenizers it is a space, which their normaliser has replaced: they split nowhere.
    """

    def __init__(self, string: str, behavior: str, invert: bool = False):
        super().__init__()
        if not 0 < len(string) <= LONGEST:
            raise refuse("pre_tokenizer", f"Split by String {string!r}", [f"a string of 1 to {LONGEST} characters"])
        self.string, self.behavior, self.invert = [ord(character) for character in string], behavior, invert
        self.looks_ahead = behavior == "Removed" and len(string) > 1

    def __call__(self, points: Stream, starts: tf.Tensor) -> tuple[Stream, tf.Tensor]:
        return split_at(points, starts, find_string(points, starts, self.string), self.behavior, self.invert)


def split_at(
    points: Stream, starts: tf.Tensor, delimiters: Matches, behavior: str, invert: bool = False
) -> tuple[Stream, tf.Tensor]:
    """Split pieces at delimiters.

    Args:
        points: N code points.
        starts: (N,) bool, where pieces begin so far.
        delimiters: Matches of the delimiters.
        behavior: `"Removed"`, a delimiter is dropped; `"Isolated"`, it is a separate piece; `"MergedWithPrevious"`,
            the end of the piece before it; `"MergedWithNext"`, the beginning of the piece after it; or `"Contiguous"`,
            a piece together with the delimiters beside it.
        invert: Whether the text between the matches is the delimiter; each match is a piece then.

    Returns:
        The code points that are kept, and where their pieces begin.
    """
    begins = delimiters.first | shift(delimiters.last, False)  # (N,) of a match, or of the text between two
    inside = ~delimiters.inside & (points.values < TOKEN) if invert else delimiters.inside  # (N,)
    before = shift(inside, False)  # (N,)
    if behavior == "Removed":
        return keep(points, ~inside), tf.boolean_mask(starts | begins, ~inside)
    joins = {
        "Isolated": tf.zeros_like(inside),
        "MergedWithPrevious": inside & ~before,
        "MergedWithNext": before & ~inside,
        "Contiguous": inside == before,
    }
    return points, starts | (begins & ~joins[behavior])
