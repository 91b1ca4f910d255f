"""Where the values of a stream came from: make `Tracked` streams, and align them as the library does."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.streams.streams import Tracked, shift


def tracked(points: tf.RaggedTensor) -> Tracked:
    """Track values from here on: the span of each is its own place."""
    place = tf.range(tf.size(points.values))
    return Tracked(points, tf.stack([place, place + 1], 1))


def tracked_in_rows(points: tf.RaggedTensor, begins: tf.Tensor | None = None) -> Tracked:
    """Track values from here on, by places that count from the start of their row.

    Args:
        points: N values in B rows.
        begins: (N,) bool, True for the first value of each place; None if each value is a place of its own.
    """
    place = tf.range(tf.size(points.values)) if begins is None else tf.cumsum(tf.cast(begins, tf.int32)) - 1  # (N,)
    place -= tf.gather(place, tf.gather(points.row_splits, points.value_rowids()))
    return Tracked(points, tf.stack([place, place + 1], 1))


def spanning(points: Tracked, first: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
    """(P, K): the spans of the values from `first` (P,) up to `stop` (P,)."""
    of_first = tf.gather(points.spans, first)
    return tf.concat([of_first[:, :1], tf.gather(points.spans[:, 1:2], stop - 1), of_first[:, 2:]], 1)


def leads(points: Tracked) -> tf.Tensor:
    """(N,) bool: True for the first value of each place, where all spans are single places."""
    place = points.spans[:, 0]
    return place != shift(place, -1)


def walk(consumed: tf.Tensor, starts: tf.Tensor, begin: tf.Tensor) -> tf.Tensor:
    """(M,) int32: the value of an earlier stream that each of M values stands for, as the library aligns them.

    From the left, each value consumes some of the earlier values, and stands for the first of these. If it consumes
    none, it stands for the last that was consumed.

    Args:
        consumed: (M,) int32, how many.
        starts: (M,) bool, where a row or a piece begins.
        begin: (M,) int32, where it begins in the earlier stream.
    """
    before = tf.cumsum(consumed, exclusive=True)  # (M,)
    return begin + before - tf.gather(before, start_of(starts)) - tf.cast(consumed == 0, tf.int32)


def start_of(starts: tf.Tensor) -> tf.Tensor:
    """(N,) int64: where the piece of each value begins; `starts` (N,) bool."""
    return tf.gather(tf.where(starts)[:, 0], tf.cumsum(tf.cast(starts, tf.int32)) - 1)
