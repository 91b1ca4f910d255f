"""Added tokens as ops: [MASK] typed in the text is one token, cut out before anything else sees its letters."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.streams import keep, reachable, row_starts
from keras_transformers.text.graph.tables import TOKEN, PointTable, shipped
from keras_transformers.text.graph.trie import Trie


class AddedTokens(tf.Module):
    """Put TOKEN + id in the place of each added token: the leftmost, of those the longest, no overlaps.

    `lstrip` and `rstrip` need no code: they swallow white space, which BERT's pre-tokeniser drops anyway.

    Args:
        tokens: content to id.
        single_words: ids of those that must not touch a word character.
    """

    def __init__(self, tokens: dict[str, int], single_words: list[int]):
        super().__init__()
        self.trie = Trie(tokens)
        self.first_points = sorted({ord(content[0]) for content in tokens})
        self.single_words = tf.constant(single_words, tf.int32)
        self.word_class = PointTable(shipped()["word"])

    def __call__(self, points: tf.RaggedTensor) -> tf.RaggedTensor:
        candidates = tf.reduce_any(points.values[:, None] == self.first_points, 1)
        return tf.cond(tf.reduce_any(candidates), lambda: self._cut(points, tf.where(candidates)[:, 0]), lambda: points)

    def _cut(self, points: tf.RaggedTensor, at: tf.Tensor) -> tf.RaggedTensor:
        row = tf.searchsorted(points.row_splits, at, side="right")
        length, ids = self.trie.longest(points.values, at, tf.gather(points.row_splits, row), tf.zeros_like(at))
        at, length, ids = (tf.boolean_mask(x, length > 0) for x in (at, tf.cast(length, tf.int64), ids))
        chosen = _leftmost(at, at + length) & ~self._inside_word(points, at, at + length, ids)
        at, length, ids = (tf.boolean_mask(x, chosen) for x in (at, length, ids))
        rest = tf.ragged.range(at + 1, at + length).values[:, None]
        values = tf.tensor_scatter_nd_update(points.values, at[:, None], ids + TOKEN)
        kept = tf.tensor_scatter_nd_update(tf.ones_like(values, tf.bool), rest, tf.zeros_like(rest[:, 0], tf.bool))
        return keep(points.with_values(values), kept)

    def _inside_word(self, points: tf.RaggedTensor, at: tf.Tensor, stop: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
        """True for matches that must be single words and have a word character beside them in their row."""
        is_word = tf.concat([self.word_class(points.values) > 0, [False]], 0)
        first = tf.concat([row_starts(points), [True]], 0)
        before = tf.gather(is_word, tf.maximum(at - 1, 0)) & ~tf.gather(first, at)
        after = tf.gather(is_word, stop) & ~tf.gather(first, stop)
        return (before | after) & tf.reduce_any(ids[:, None] == self.single_words, 1)


def _leftmost(at: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
    """Which of the matches [at, stop), in order, are met when each is searched for after the end of the last."""
    return reachable(tf.range(tf.size(at)) == 0, tf.searchsorted(at, stop), tf.size(at))
