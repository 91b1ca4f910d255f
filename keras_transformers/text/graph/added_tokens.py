"""Added tokens as ops: [MASK] typed in a text becomes one token, before any later step sees its letters."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import tokenizers

from keras_transformers.text.graph.models.trie import Trie
from keras_transformers.text.graph.outputs.trim import spaces_at_ends
from keras_transformers.text.graph.streams.code_points import TOKEN, PointTable, shipped
from keras_transformers.text.graph.streams.probe import BLANK, UNICODE_SIZE
from keras_transformers.text.graph.streams.runs import EDGE, run_lengths, runs_of
from keras_transformers.text.graph.streams.streams import Stream, Tracked, keep, leftmost, row_starts, shift
from keras_transformers.text.graph.streams.tracking import spanning

FLAGS = ("single_word", "lstrip", "rstrip")


class AddedTokens(tf.Module):
    """Ops that replace each added token in a text by TOKEN + id. The leftmost match wins, then the longest; none
    overlap.

    Args:
        tokens: Content to id.
        flags: Id to the token with its flags: `single_word` tokens must not be next to a word character, `lstrip` and
            `rstrip` tokens absorb the whitespace before and after them.
    """

    def __init__(self, tokens: dict[str, int], flags: dict[int, tokenizers.AddedToken]):
        super().__init__()
        self.trie = Trie(tokens)
        begins = np.zeros(UNICODE_SIZE, np.int32)
        begins[[ord(content[0]) for content in tokens]] = 1
        self.begins = PointTable(begins)
        self.single_words, self.lstrip, self.rstrip = (_flagged(tokens, flags, name) for name in FLAGS)
        self.strips = any(flags[i].lstrip or flags[i].rstrip for i in tokens.values())
        self.word_class = PointTable(shipped()["word"])
        self.is_blank = PointTable(shipped()["regex"] >= BLANK)

    def __call__(self, points: Stream) -> Stream:
        candidates = self.begins(points.values) > 0
        return tf.cond(tf.reduce_any(candidates), lambda: self._cut(points, tf.where(candidates)[:, 0]), lambda: points)

    def _cut(self, points: Stream, at: tf.Tensor) -> Stream:
        row = tf.searchsorted(points.row_splits, at, side="right")  # (C,), C candidates
        length, ids = self.trie.longest(points.values, at, tf.gather(points.row_splits, row), tf.zeros_like(at))
        at, length, ids = (tf.boolean_mask(x, length > 0) for x in (at, tf.cast(length, tf.int64), ids))  # (M,)
        chosen = leftmost(at, at + length) & ~self._inside_word(points, at, at + length, ids)  # (M,)
        at, length, ids = (tf.boolean_mask(x, chosen) for x in (at, length, ids))  # (P,)

        rest = tf.ragged.range(at + 1, at + length).values[:, None]
        values = tf.tensor_scatter_nd_update(points.values, at[:, None], ids + TOKEN)
        if isinstance(points, Tracked):
            points = self._spanned(points, at, at + length, ids)
        kept = tf.tensor_scatter_nd_update(tf.ones_like(values, tf.bool), rest, tf.zeros_like(rest[:, 0], tf.bool))
        points = keep(points.with_values(values), kept)
        if not self.strips:
            return points
        placed = tf.tensor_scatter_nd_update(values * 0, at[:, None], ids + 1)
        return self._strip(points, tf.boolean_mask(placed, kept))

    def _inside_word(self, points: Stream, at: tf.Tensor, stop: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        """Mark the matches of `single_word` tokens that are next to a word character of their row, (M,) bool."""
        is_word = tf.concat([self.word_class(points.values) > 0, [False]], 0)  # (N + 1,)
        first = tf.concat([row_starts(points), [True]], 0)  # (N + 1,)

        before = tf.gather(is_word, tf.maximum(at - 1, 0)) & ~tf.gather(first, at)  # (M,)
        after = tf.gather(is_word, stop) & ~tf.gather(first, stop)  # (M,)
        return (before | after) & _among(ids, self.single_words)

    def _spanned(self, points: Tracked, at: tf.Tensor, stop: tf.Tensor, ids: tf.Tensor) -> Tracked:
        """Give the values `at` (P,) the spans of their tokens, up to `stop` (P,), and of the whitespace they absorb.

        Whitespace between two tokens that absorb it goes to the first.
        """
        is_blank, starts = self.is_blank(points.values) > 0, row_starts(points)  # (N,), (N,)
        up_to, from_here = run_lengths(is_blank, starts)  # (N,), (N,)
        before = tf.where(~starts, shift(up_to, 0), 0)  # (N,)
        after = tf.where(~shift(starts, True, by=-1), shift(from_here, 0, by=-1), 0)  # (N,)

        stop += tf.where(_among(ids, self.rstrip), tf.gather(after, stop - 1), 0)  # (P,)
        first = tf.where(_among(ids, self.lstrip), tf.maximum(at - tf.gather(before, at), shift(stop, 0)), at)  # (P,)
        spans = spanning(points, first, stop)  # (P, K)
        if spans.shape[1] > 2:
            spans = tf.concat([spans[:, :2], spaces_at_ends(points, is_blank, first, stop)], 1)
        return Tracked(points.points, tf.tensor_scatter_nd_update(points.spans, at[:, None], spans))

    def _strip(self, points: Stream, placed: tf.Tensor) -> Stream:
        """Drop the whitespace that tokens absorb: `placed` (N,) is the id + 1 of each token, 0 for other values."""
        blanks = runs_of(self.is_blank(points.values), row_starts(points))  # R runs
        before = tf.where(blanks.before == EDGE, 0, tf.gather(placed, tf.maximum(blanks.first - 1, 0)))  # (R,)
        after = tf.where(blanks.after == EDGE, 0, tf.gather(placed, blanks.stop % tf.size(placed, tf.int64)))  # (R,)
        absorbed = _among(before - 1, self.rstrip) | _among(after - 1, self.lstrip)  # (R,)
        return keep(points, ~blanks.spread((blanks.kind > 0) & absorbed))


def _flagged(tokens: dict[str, int], flags: dict[int, tokenizers.AddedToken], name: str) -> tf.Tensor:
    """Return a table (I + 1,) bool by id + 1: whether the token has a flag. A search in a list of ids would be slow."""
    table = np.zeros(max(tokens.values()) + 2, bool)
    table[[i + 1 for i in tokens.values() if getattr(flags[i], name)]] = True
    return tf.constant(table)


def _among(ids: tf.Tensor, flagged: tf.Tensor) -> tf.Tensor:
    """Mark the ids that are flagged, (M,) bool; an id of -1 is none."""
    return tf.gather(flagged, ids + 1)
