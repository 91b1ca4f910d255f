"""The words of texts and the word of each token as ops: the rules of `streams.words_of_text`."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import PointTable, shipped
from keras_transformers.text.graph.streams.probe import ATTACHED, GAP, PICTOGRAPH
from keras_transformers.text.graph.streams.streams import offsets as row_splits_of
from keras_transformers.text.graph.streams.streams import row_starts, shift
from keras_transformers.text.graph.streams.tracking import start_of
from keras_transformers.text.graph.streams.words_of_text import IN_A_ROW, JOINER


class PlaceWords(tf.Module):
    """Ops that find the word of each token: `words_of_text.place_words` for strings in a tensor."""

    def __init__(self):
        super().__init__()
        self.classes = PointTable(shipped()["text_word"])

    def begins(self, points: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return where words begin, white space is, and marks continue words: (N,) bool each, for N code points."""
        kinds, is_first = self.classes(points.values), row_starts(points)  # (N,) each
        base = tf.gather(kinds, start_of((kinds != ATTACHED) | is_first))  # (N,), without what is attached
        before = tf.where(is_first, GAP, shift(base, GAP))  # (N,)
        joins = (kinds == ATTACHED) & (tf.where(is_first, GAP, shift(kinds, GAP)) != GAP)
        joins |= (kinds == before) & tf.reduce_any(kinds[:, None] == IN_A_ROW, 1)
        joins |= (kinds == PICTOGRAPH) & (before == PICTOGRAPH) & (shift(points.values, 0) == JOINER)
        return ~joins & (kinds != GAP), kinds == GAP, joins & (kinds == ATTACHED)

    def __call__(self, texts: tf.Tensor, offsets: tf.Tensor, word_ids: tf.Tensor) -> dict[str, tf.Tensor]:
        """Return the word of each token, and its place without white space at its ends.

        Args:
            texts: (B,) string.
            offsets: (B, T, 2) int32, in code points.
            word_ids: (B, T) int32, the number of the tokenizer's word; -1 for special tokens and padding.
        """
        points = tf.strings.unicode_decode(texts, "UTF-8", errors="replace")  # (B, None), as the tokenizer reads them
        begins, is_gap, is_mark = self.begins(points)
        count = tf.size(is_gap)
        numbers = tf.concat([tf.cumsum(tf.cast(begins, tf.int32)), [0]], 0)  # (N + 1,)
        solid = tf.cast(tf.where(~is_gap)[:, 0], tf.int32)  # (S,)
        before = row_splits_of(tf.cast(~is_gap, tf.int32))  # (N + 1,), solid code points before each place
        unmarked = tf.cast(tf.where(tf.concat([~is_mark, [True]], 0))[:, 0], tf.int32)  # (U,)
        before_marks = row_splits_of(tf.cast(~is_mark, tf.int32))  # (N + 1,)

        rows = tf.cast(points.row_splits, tf.int32)[:-1, None]  # (B, 1)
        start, stop = offsets[..., 0] + rows, offsets[..., 1] + rows  # (B, T) each
        first = tf.minimum(tf.gather(tf.concat([solid, [count]], 0), tf.gather(before, start)), stop)
        last = tf.maximum(tf.gather(tf.concat([[0], solid + 1], 0), tf.gather(before, stop)), first)
        is_real, is_blank = word_ids >= 0, first == last
        last = tf.where(is_blank, last, tf.gather(unmarked, tf.gather(before_marks, last)))
        words = tf.where(is_real & ~is_blank, tf.gather(numbers, first), -1)

        letter = tf.gather(tf.concat([points.values, [0]], 0), start)
        is_space = (start == stop) | ((stop - start == 1) & (letter == ord(" ")))
        is_next = (_next(word_ids) == word_ids) & (_next(words) >= 0) & (_next(first) == stop)
        words = tf.where(is_real & is_blank & is_space & is_next, _next(words), words)
        first, last = (tf.where(is_real & is_blank, stop, place) for place in (first, last))
        ends_early = (_next(words) >= 0) & (_next(words) != words)  # bytes of a character may be in two tokens
        last = tf.where(ends_early, tf.maximum(tf.minimum(_next(first), last), first), last)
        first, last = first - rows, last - rows
        return {"offsets": tf.where(is_real[..., None], tf.stack([first, last], -1), offsets), "word_ids": words}


def _next(values: tf.Tensor) -> tf.Tensor:
    """Return the value of the next token, (B, T); -1 for the last one."""
    return tf.pad(values[:, 1:], [[0, 0], [0, 1]], constant_values=-1)
