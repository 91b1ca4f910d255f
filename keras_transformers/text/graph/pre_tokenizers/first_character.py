"""The code points that a text's first character becomes, as ops, for the pre-tokeniser Metaspace."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence

import tensorflow as tf

from keras_transformers.text.graph.normalizers.precompiled import Precompiled
from keras_transformers.text.graph.streams.code_points import TOKEN, piece_starts
from keras_transformers.text.graph.streams.streams import Stream, offsets, stream
from keras_transformers.text.graph.streams.tracking import tracked
from keras_transformers.text.pipelines.components import refuse


class Front(tf.Module):
    """Ops that count the code points that the first character of each text became: 0 if it was dropped.

    This does not depend on the characters after it. So the steps are applied to the first character and one letter.
    The exceptions are a character that `Precompiled` drops, as the one after it then takes its place, and steps that
    look ahead, such as the replacement of a string: they are applied to whole texts.

    Args:
        normalizers, splitters: The steps before Metaspace.
    """

    def __init__(self, normalizers: Sequence[Callable], splitters: Sequence[Callable]):
        super().__init__()
        self.steps = tuple(normalizers), tuple(splitters)
        self.looks_ahead = any(getattr(step, "looks_ahead", False) for step in (*normalizers, *splitters))
        self.may_shift = any(isinstance(normalizer, Precompiled) for normalizer in normalizers)
        for letter in string.ascii_letters:
            self.letter = ord(letter)
            alone, _ = self._pass(tf.RaggedTensor.from_row_splits([self.letter], tf.constant([0, 1], tf.int64)))
            self.alone = alone.values
            if self.alone.shape[0] and self.alone[-1] // 2 == self.letter:
                return
        raise refuse("normalizer", "that keeps no letter as it is, before Metaspace", ["one that keeps a letter"])

    def _split(self, points: Stream) -> tuple[Stream, tf.Tensor]:
        normalizers, splitters = self.steps
        for normalizer in normalizers:
            points = normalizer(points)
        starts = piece_starts(points)
        for splitter in splitters:
            points, starts = splitter(points, starts)
        return points, starts

    def _pass(self, points: tf.RaggedTensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Apply the steps; return each code point as 2 * itself, + 1 if a word begins there, and the row lengths."""
        points, starts = self._split(points)
        return points.with_values(2 * points.values + tf.cast(starts, tf.int32)), points.row_lengths()

    def __call__(self, typed: Stream) -> tf.Tensor:
        """Count them for texts (B, None) before normalisation: (B,) int64."""
        if self.looks_ahead:
            return self._standing_first(typed)
        nonempty = tf.where(typed.row_lengths() > 0)  # (F, 1)
        first = tf.gather(typed.values, tf.gather(typed.row_splits[:-1], nonempty[:, 0]))  # (F,)
        pairs = tf.reshape(tf.stack([first, tf.fill(tf.shape(first), self.letter)], 1), [-1])  # (2 F,)
        rows, length = self._pass(stream(pairs, 2 * tf.range(tf.size(first, tf.int64) + 1)))  # (F, None), (F,)

        size = self.alone.shape[0]
        is_dropped = (length == size) & tf.reduce_all(rows.to_tensor(-1, shape=[None, size]) == self.alone, 1)
        count = tf.where(is_dropped | (first >= TOKEN), tf.zeros_like(length), length - 1)  # (F,)
        counts = tf.scatter_nd(nonempty, count, tf.shape(typed.row_lengths(), tf.int64))  # (B,)
        if not self.may_shift:
            return counts
        return tf.cond(tf.reduce_any(is_dropped), lambda: self._standing_first(typed), lambda: counts)

    def _standing_first(self, typed: Stream) -> tf.Tensor:
        """Count the code points whose span begins at the first character, (B,) int64."""
        points, _ = self._split(tracked(stream(typed.values, typed.row_splits)))
        first = tf.cast(tf.gather(typed.row_splits, points.value_rowids()), tf.int32)  # (N,)
        before = offsets(tf.cast(points.spans[:, 0] == first, tf.int64))  # (N + 1,)
        return tf.gather(before, points.row_splits[1:]) - tf.gather(before, points.row_splits[:-1])

    @staticmethod
    def mark(points: Stream, counts: tf.Tensor) -> tf.Tensor:
        """Mark the first `counts` (B,) code points of each row, up to an added token, (N,) bool."""
        row, place = points.value_rowids(), tf.range(tf.size(points.values, tf.int64))
        first = tf.gather(points.row_splits, row)  # (N,)
        tokens_before = offsets(tf.cast(points.values >= TOKEN, tf.int64))  # (N + 1,)
        return (place - first < tf.gather(counts, row)) & (tf.gather(tokens_before, first) == tokens_before[:-1])
