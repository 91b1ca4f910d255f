"""The regular expressions by which language models split words, as ops without regular expressions.

TensorFlow's regular expressions have no look-ahead. The classes of code points and of their neighbours are enough: a
text is cut into runs of one class, a run begins a token unless it joins the token before it, and some tokens begin
inside runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import PointTable, shipped
from keras_transformers.text.graph.streams.probe import BLANK, LETTER, NEWLINE, NUMBER, OTHER
from keras_transformers.text.graph.streams.runs import Runs, runs_of
from keras_transformers.text.graph.streams.streams import Stream, shift

_TIKTOKEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?{letters}+|\p{{N}}{digits}"
    r"| ?[^\s\p{{L}}{marks}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_GPT4, _QWEN2, _QWEN3_5 = (
    _TIKTOKEN.format(letters=letters, digits=digits, marks=marks)
    for letters, digits, marks in (
        (r"\p{L}", "{1,3}", ""),
        (r"\p{L}", "", ""),
        (r"[\p{L}\p{M}]", "", r"\p{M}"),
    )
)
PATTERNS: dict[str, dict[str, Any]] = {
    # GPT-2's, and the pre-tokeniser ByteLevel's
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": {"tiktoken": False, "digits": 0},
    _GPT4: {"tiktoken": True, "digits": 3},  # cl100k, Llama 3
    _QWEN2: {"tiktoken": True, "digits": 1},
    _QWEN3_5: {"tiktoken": True, "digits": 1, "marks": True},
}


class WordPattern(tf.Module):
    """The pre-tokeniser Split for one of `PATTERNS`.

    A contraction ('s, 'll) is a token. A space belongs to the word after it; other whitespace is a token.

    Args:
        tiktoken: GPT-4's rules: contractions in any case; a run of letters includes any one mark or blank before it,
            not only a space; newlines belong to the token of the marks or whitespace before them.
        digits: Maximum digits of a token; 0 for any number.
        marks: Whether combining marks are letters.
    """

    def __init__(self, tiktoken: bool, digits: int, marks: bool = False):
        super().__init__()
        classes = shipped()["regex"]
        if marks:
            classes = np.where((classes == OTHER) & (shipped()["letter_case"] > 0), LETTER, classes)
        self.classes = PointTable(classes if tiktoken else classes - (classes == NEWLINE), token=OTHER)
        self.tiktoken, self.digits = tiktoken, digits

    def __call__(self, points: Stream, starts: tf.Tensor) -> tuple[Stream, tf.Tensor]:
        classes = self.classes(points.values)  # (N,)
        runs = runs_of(classes, starts)  # R runs
        after_space = (runs.before == BLANK) & (tf.gather(points.values, tf.maximum(runs.first - 1, 0)) == ord(" "))

        # A single mark that begins a token: the letters after it may belong to the token.
        opens = (runs.kind == OTHER) & (runs.stop - runs.first == 1) & ~after_space  # (R,)
        after_mark = shift(opens, False) & (runs.before == OTHER)  # (R,)

        contracted, rest = self._contractions(points.values, runs, after_mark)  # (R,), (K,)
        joins = self._joins(runs, after_space, after_mark) | contracted  # (R,)

        inside = [rest, tf.boolean_mask(runs.stop - 1, (runs.kind == BLANK) & (runs.after <= OTHER))]
        if self.digits:
            inside.append(_groups(classes, runs, self.digits))

        at = tf.concat([tf.boolean_mask(runs.first, ~joins), *inside], 0)  # (S,) starts of tokens
        return points, tf.tensor_scatter_nd_update(tf.zeros_like(starts), at[:, None], tf.ones_like(at, tf.bool))

    def _joins(self, runs: Runs, after_space: tf.Tensor, after_mark: tf.Tensor) -> tf.Tensor:
        """Mark the runs that join the token before them, (R,) bool."""
        if not self.tiktoken:
            return after_space
        letters = (runs.kind == LETTER) & ((runs.before == BLANK) | after_mark)
        newlines = (runs.kind == NEWLINE) & ((runs.before == BLANK) | (runs.before == OTHER))
        ended = shift((runs.kind == NEWLINE) & (runs.before == OTHER), False)  # such newlines belong to the marks
        blanks = (runs.kind == BLANK) & (runs.before == NEWLINE) & (runs.after == NEWLINE) & ~ended
        return letters | ((runs.kind == OTHER) & after_space) | newlines | blanks

    def _contractions(self, points: tf.Tensor, runs: Runs, after_mark: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Mark the letter runs that complete a contraction ("'s"), (R,) bool; return where their rests begin, (K,)
        int64.
        """
        quoted = (runs.kind == LETTER) & after_mark & (tf.gather(points, tf.maximum(runs.first - 1, 0)) == ord("'"))
        at, stop = tf.boolean_mask(runs.first, quoted), tf.boolean_mask(runs.stop, quoted)  # (Q,), (Q,)
        one, two = (self._folded(tf.gather(points, tf.minimum(at + i, stop - 1))) for i in (0, 1))  # (Q,), (Q,)

        is_long = ((one == ord("l")) & (two == ord("l"))) | (among(one, "rv") & (two == ord("e")))
        is_long &= stop - at > 1
        length = tf.where(is_long, 2, tf.where(among(one, "stmd"), 1, 0))
        length = tf.cast(length, tf.int64)

        rest = tf.boolean_mask(at + length, (length > 0) & (at + length < stop))  # (K,)
        return tf.tensor_scatter_nd_update(quoted, tf.where(quoted), length > 0), rest

    def _folded(self, points: tf.Tensor) -> tf.Tensor:
        return folded(points) if self.tiktoken else points


def _groups(classes: tf.Tensor, runs: Runs, size: int) -> tf.Tensor:
    """Return where the groups of at most `size` digits begin."""
    at = tf.where(classes == NUMBER)[:, 0]
    first = tf.gather(runs.first, tf.searchsorted(runs.first, at, side="right") - 1)
    return tf.boolean_mask(at, (at - first) % size == 0)


def folded(points: tf.Tensor) -> tf.Tensor:
    """Return code points (N,) with small letters for capitals, as far as letters of contractions are concerned."""
    is_capital = (points >= ord("A")) & (points <= ord("Z"))
    return tf.where(is_capital, points + 32, tf.where(points == ord("ſ"), ord("s"), points))


def among(points: tf.Tensor, letters: str) -> tf.Tensor:
    """Mark the code points that are one of `letters`, (N,) bool."""
    return tf.reduce_any(points[:, None] == [ord(letter) for letter in letters], 1)
