"""`Tracked` streams: where values came from, aligned as in the library."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.streams.streams import Tracked, shift


def tracked(points: tf.RaggedTensor) -> Tracked:
    """Track values from here on: the span of each value is its place."""
    place = tf.range(tf.size(points.values))
    return Tracked(points, tf.stack([place, place + 1], 1))


def tracked_in_rows(points: tf.RaggedTensor, begins: tf.Tensor | None = None) -> Tracked:
    """Track values from here on, by places counted from the start of their row.

    Args:
        points: N values in B rows.
        begins: (N,) bool, True for the first value of each place; None if each value is one place.
    """
    place = tf.range(tf.size(points.values)) if begins is None else tf.cumsum(tf.cast(begins, tf.int32)) - 1  # (N,)
    place -= tf.gather(place, tf.gather(points.row_splits, points.value_rowids()))
    return Tracked(points, tf.stack([place, place + 1], 1))


def spanning(points: Tracked, first: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
    """Return the spans of the values from `first` (P,) up to `stop` (P,): (P, K)."""
    of_first = tf.gather(points.spans, first)
    return tf.concat([of_first[:, :1], tf.gather(points.spans[:, 1:2], stop - 1), of_first[:, 2:]], 1)


def leads(points: Tracked) -> tf.Tensor:
    """Mark the first value of each place, if all spans are single places, (N,) bool."""
    place = points.spans[:, 0]
    return place != shift(place, -1)


def walk(consumed: tf.Tensor, starts: tf.Tensor, begin: tf.Tensor) -> tf.Tensor:
    """Return the value of an earlier stream that each of M values is aligned with, as in the library: (M,) int32.

    From the left, each value consumes some of the earlier values, and is aligned with the first of these. If it
    consumes none, it is aligned with the last consumed value.

    Args:
        consumed: (M,) int32, how many.
        starts: (M,) bool, where a row or a piece begins.
        begin: (M,) int32, where it begins in the earlier stream.
    """
    before = tf.cumsum(consumed, exclusive=True)  # (M,)
    return begin + before - tf.gather(before, start_of(starts)) - tf.cast(consumed == 0, tf.int32)


def start_of(starts: tf.Tensor) -> tf.Tensor:
    """Return where the piece of each value begins, (N,) int64; `starts` (N,) bool."""
    return tf.gather(tf.where(starts)[:, 0], tf.cumsum(tf.cast(starts, tf.int32)) - 1)
