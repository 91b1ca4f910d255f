"""The normaliser Replace as ops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import Mapping, PointTable, Replacer, piece_starts, shipped
from keras_transformers.text.graph.streams.matches import Matches, find_string, matches_of_one
from keras_transformers.text.graph.streams.probe import BLANK
from keras_transformers.text.graph.streams.runs import EDGE, runs_of
from keras_transformers.text.graph.streams.streams import Stream, replace, shift
from keras_transformers.text.pipelines.components import refuse
from keras_transformers.text.sentencepiece.sentencepiece_pipeline import ENDS, RUNS, SPACE

LONGEST = 64  # characters of a string: each takes a few ops
ONE_OF = {r"[\n\r\t]": "\n\r\t", r"\n": "\n"}  # regular expressions that match one character
RUN_OPTIONS: dict[str, dict[str, Any]] = {  # regular expressions that match runs of spaces
    RUNS: {"least": 2},
    ENDS: {"at_ends": True},
    r"\s+": {"whitespace": True},
    r"\s{2,}|[\n\r\t]": {"whitespace": True, "least": 2, "alone": "\n\r\t"},  # DeBERTa
}
FIRST_MARK = rf"\A{SPACE}"
PATTERNS = (*ONE_OF, *RUN_OPTIONS, FIRST_MARK)
Find = Callable[[Stream, tf.Tensor], Matches]


def replace_pattern(config: dict[str, Any]) -> Any:
    """Return the normaliser Replace, for a string or for one of `PATTERNS`."""
    ((kind, pattern),) = config["pattern"].items()
    content = [ord(character) for character in config["content"]]
    letters = ONE_OF.get(pattern) if kind == "Regex" else pattern if len(pattern) == 1 else None
    if letters:
        keys = np.sort([ord(letter) for letter in letters])
        return Replacer(Mapping(keys, np.full(len(keys), len(content)), np.array(content * len(keys), np.int32)))
    if kind == "String" and 1 < len(pattern) <= LONGEST:
        string = [ord(character) for character in pattern]
        return ReplaceMatches(partial(find_string, pattern=string), content, looks_ahead=True)
    if kind == "Regex" and pattern in RUN_OPTIONS:
        # A space alone becomes "▁" in Metaspace, too.
        return ReplaceMatches(
            FindRuns(**RUN_OPTIONS[pattern]), content, looks_ahead=config["content"] not in (" ", SPACE)
        )
    if kind == "Regex" and pattern == FIRST_MARK:
        return ReplaceMatches(_find_first_mark, content)
    known = [f"Replace of a string of 1 to {LONGEST} characters", *PATTERNS]
    raise refuse("normalizer", f"Replace of {kind} {pattern!r}", known)


class ReplaceMatches(tf.Module):
    """The normaliser Replace for matches that depend on the characters beside them.

    The new characters take the place of the last one of a match.

    Args:
        find: Finds the matches in N code points, whose pieces begin at the marks (N,) bool.
        content: The new code points.
        looks_ahead: Whether characters after the first one of a text may decide about what becomes of it.
    """

    def __init__(self, find: Find, content: list[int], looks_ahead: bool = False):
        super().__init__()
        self.find, self.looks_ahead = find, looks_ahead
        self.content = tf.constant(content, tf.int32)

    def __call__(self, points: Stream) -> Stream:
        _, inside, last = self.find(points, piece_starts(points))  # (N,), (N,)

        def rewrite() -> Stream:
            length = tf.where(inside, tf.where(last, tf.size(self.content), 0), 1)  # (N,)
            return replace(points, tf.where(inside, 0, -1), length, self.content)

        return tf.cond(tf.reduce_any(inside), rewrite, lambda: points)


class FindRuns(tf.Module):
    """Find runs of spaces: a match is a whole run.

    Args:
        whitespace: Whether any whitespace belongs to runs, not only U+0020.
        least: 1, or 2 for runs of at least two characters.
        alone: Characters that match alone, too.
        at_ends: Whether only runs at the ends of a piece of text match.
    """

    def __init__(self, whitespace: bool = False, least: int = 1, alone: str = "", at_ends: bool = False):
        super().__init__()
        members = shipped()["regex"] >= BLANK
        self.is_member = PointTable(members) if whitespace else None
        self.least, self.alone, self.at_ends = least, [ord(letter) for letter in alone], at_ends

    def __call__(self, points: Stream, starts: tf.Tensor) -> Matches:
        values = points.values
        is_member = self.is_member(values) > 0 if self.is_member else values == ord(" ")  # (N,)
        first = is_member & (starts | ~shift(is_member, False))  # (N,)
        last = is_member & shift(starts | ~is_member, True, by=-1)  # (N,)

        inside = is_member
        if self.at_ends:
            inside &= starts | shift(starts, True, by=-1)
            inside = tf.cond(tf.reduce_any(inside), lambda: _runs_at_ends(is_member, starts), lambda: inside)
        elif self.least > 1:
            inside &= ~(first & last)
        for letter in self.alone:
            inside |= values == letter
        return Matches(first & inside, inside, last & inside)


def _runs_at_ends(is_member: tf.Tensor, starts: tf.Tensor) -> tf.Tensor:
    runs = runs_of(tf.cast(is_member, tf.int32), starts)
    return runs.spread((runs.kind > 0) & ((runs.before == EDGE) | (runs.after == EDGE)))


def _find_first_mark(points: Stream, starts: tf.Tensor) -> Matches:
    return matches_of_one(starts & (points.values == ord(SPACE)))
