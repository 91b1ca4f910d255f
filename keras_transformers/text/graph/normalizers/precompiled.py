"""The normaliser Precompiled of SentencePiece models as ops."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import PointTable, piece_starts, shipped
from keras_transformers.text.graph.streams.lookup_tables import lookup_table
from keras_transformers.text.graph.streams.probe import JOINS, NUM_CLUSTER_CLASSES, PICTURE, UNICODE_SIZE
from keras_transformers.text.graph.streams.streams import Stream, Tracked, replace, shift
from keras_transformers.text.graph.streams.tracking import start_of, walk
from keras_transformers.text.sentencepiece.charsmap import rules

POINTS = 1 << 21  # more than there are code points
JOINER = 0x200D
LONGEST_CLUSTER = 5  # bytes; longer ones are normalised letter by letter
MOST_POINTS = 3  # code points of such a cluster


class Precompiled(tf.Module):
    """The normaliser Precompiled, which replaces clusters (a letter and its marks) and single letters by rules.

    A cluster is Unicode's "extended grapheme cluster". As in the library, if a cluster of at most 5 bytes begins with
    the string of a rule, the shortest such rule replaces the whole cluster. Otherwise each letter is replaced by
    itself.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        replacements = rules(base64.b64decode(config["precompiled_charsmap"]), LONGEST_CLUSTER)
        texts = [np.array([ord(character) for character in text], np.int32) for text in replacements.values()]
        self.pool = tf.constant(np.concatenate([*texts, [0]]), tf.int32)
        self.lengths = tf.constant([1, *map(len, texts)])
        self.begins = tf.constant([-1, *(np.cumsum([0, *map(len, texts)])[:-1])], tf.int32)

        single = np.zeros(UNICODE_SIZE, np.int32)  # number of the rule for each code point, from 1; 0 for none
        several: dict[int, int] = {-1: 0}  # a table cannot be empty
        for number, key in enumerate(replacements, 1):
            if len(key) == 1:
                single[ord(key)] = number
            elif len(key) <= MOST_POINTS:
                several[_key([ord(character) for character in key])] = number

        self.single = PointTable(single)
        self.several = lookup_table(list(several), list(several.values()), tf.int64, tf.int32, 0)
        self.classes = PointTable(shipped()["cluster"])
        self.joins = tf.constant(JOINS)

    def __call__(self, points: Stream) -> Stream:
        number, kept = self.single(points.values), tf.ones_like(points.values)  # (N,), (N,)
        joined = self._joined(points)  # (N,)
        number, kept = tf.cond(
            tf.reduce_any(joined), lambda: self._whole_clusters(points.values, joined, number), lambda: (number, kept)
        )

        def rewrite() -> Stream:
            length = tf.gather(self.lengths, number) * kept  # (N,)
            new = replace(points, tf.gather(self.begins, number), length, self.pool)
            if not isinstance(points, Tracked):
                return new
            return tf.cond(tf.reduce_all(length > 0), lambda: new, lambda: _aligned(points, new, length, kept))

        return tf.cond(tf.reduce_any(number > 0), rewrite, lambda: points)

    def _joined(self, points: Stream) -> tf.Tensor:
        """Mark the code points in the same cluster as the one before them, (N,) bool."""
        values = points.values
        classes = self.classes(values)  # (N,)
        inside = ~piece_starts(points)  # (N,)
        joined = inside & tf.gather(self.joins, shift(classes, 0) * NUM_CLUSTER_CLASSES + classes)  # (N,)

        # A joiner connects emoji. Marks between a picture and the joiner do not matter: they make more than 5 bytes.
        after_picture = shift(joined & (values == JOINER) & (shift(classes, 0) == PICTURE), False)
        return joined | (inside & (classes == PICTURE) & after_picture)

    def _whole_clusters(self, values: tf.Tensor, joined: tf.Tensor, number: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the rule of each code point, (N,), and 0 for those that their cluster's rule drops, else 1, (N,)."""
        first = tf.cast(tf.where(~joined)[:, 0], tf.int32)  # (C,)
        cluster = tf.cumsum(tf.cast(~joined, tf.int32)) - 1  # (N,)
        size = tf.math.segment_sum(
            1 + sum(tf.cast(values >= limit, tf.int32) for limit in (0x80, 0x800, 0x10000)), cluster
        )  # (C,) bytes
        count = shift(first, tf.size(values), by=-1) - first  # (C,) code points

        short = tf.boolean_mask(tf.range(tf.size(first)), (count > 1) & (size <= LONGEST_CLUSTER))  # (S,)
        at, count = tf.gather(first, short), tf.gather(count, short)  # (S,), (S,)
        rule = tf.gather(number, at)  # (S,)
        for length in range(2, MOST_POINTS + 1):
            parts = [tf.gather(values, tf.minimum(at + i, tf.size(values) - 1)) for i in range(length)]
            longer = self.several.lookup(tf.where(count >= length, _key(parts), -1))  # (S,)
            rule = tf.where(rule > 0, rule, longer)

        ruled = tf.boolean_mask(short, rule > 0)  # (R,)
        whole = tf.scatter_nd(ruled[:, None], tf.ones_like(ruled), tf.shape(first)) > 0  # (C,)
        kept = tf.cast(~(joined & tf.gather(whole, cluster)), tf.int32)  # (N,)
        number = tf.tensor_scatter_nd_update(number, at[:, None], rule) * kept  # (N,)
        return number, kept


def _aligned(points: Tracked, new: Tracked, length: tf.Tensor, kept: tf.Tensor) -> Tracked:
    """Return the new values with the spans that the library gives them if rules drop code points.

    A rule's values consume the code points of its cluster one by one; the last consumes the rest, and all code points
    that are dropped after it. But nothing consumes code points that are dropped at the beginning of a piece: the spans
    of all values of that piece are too far left by their number.

    Args:
        points: N code points.
        new: M values that replace them.
        length: (N,) int32, the number of values that replace each code point.
        kept: (N,) int32, 0 for the code points that belong to the cluster of the one before them, else 1.
    """
    starts = piece_starts(points)  # (N,)
    in_cluster = _counts(kept > 0)  # (N,) code points in the cluster
    in_all = _counts((length > 0) | starts)  # (N,) and dropped after it

    source = tf.repeat(tf.range(tf.size(length)), length)  # (M,)
    nth = tf.range(tf.size(source)) - tf.gather(tf.cumsum(length, exclusive=True), source)  # (M,)
    length, in_cluster, in_all = (tf.gather(x, source) for x in (length, in_cluster, in_all))  # (M,)
    rest = in_all - tf.minimum(length - 1, in_cluster)  # (M,)
    consumed = tf.where(nth == length - 1, rest, tf.cast(nth < in_cluster, tf.int32))  # (M,)

    begin = tf.cast(tf.gather(start_of(starts), source), tf.int32)  # (M,)
    return Tracked(new.points, tf.gather(points.spans, walk(consumed, piece_starts(new), begin)))


def _counts(starts: tf.Tensor) -> tf.Tensor:
    """Count for each value the values between the starts around it, (N,) int32."""
    segment = tf.cumsum(tf.cast(starts, tf.int32)) - 1  # (N,)
    return tf.gather(tf.math.segment_sum(tf.ones_like(segment), segment), segment)


def _key(points: list) -> tf.Tensor | int:
    """Return one number for up to three code points."""
    total = 0
    for point in points:
        total = total * POINTS + (point if isinstance(point, int) else tf.cast(point, tf.int64))
    return total
