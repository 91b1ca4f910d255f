"""Places of values in earlier streams, by hand; `test_offsets.py` compares what they amount to with the library."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.streams.streams import Tracked
from keras_transformers.text.graph.streams.tracking import leads, spanning, start_of, tracked, tracked_in_rows, walk

STREAM = tf.ragged.constant([[], [5, 6, 7], [8], [9, 5]], tf.int32)


def test_places_of_values():
    assert tracked(STREAM).spans.numpy().tolist() == [[i, i + 1] for i in range(6)]
    assert tracked_in_rows(STREAM).spans.numpy().tolist() == [[0, 1], [1, 2], [2, 3], [0, 1], [0, 1], [1, 2]]
    begins = tf.constant([True, False, True, True, True, False])
    assert tracked_in_rows(STREAM, begins).spans.numpy().tolist() == [[0, 1], [0, 1], [1, 2], [0, 1], [0, 1], [0, 1]]


def test_from_the_first_to_the_last():
    points = Tracked(STREAM, tf.constant([[0, 2, 7], [3, 4, 7], [4, 9, 8], [9, 10, 8], [10, 15, 9], [15, 16, 9]]))
    assert spanning(points, tf.constant([0, 4]), tf.constant([3, 5])).numpy().tolist() == [[0, 9, 7], [10, 15, 9]]


def test_the_first_value_of_each_place():
    points = Tracked(STREAM, tf.constant([[0, 1], [0, 1], [1, 2], [2, 3], [3, 4], [3, 4]]))
    assert leads(points).numpy().tolist() == [True, False, True, True, True, False]


def test_walk():
    """Two rows that begin at 0 and 10: a value that consumes nothing stands where the one before it does."""
    starts = tf.constant([True, False, False, False, True, False, False])
    consumed = tf.constant([1, 0, 2, 1, 3, 0, 1])
    begin = tf.constant([0] * 4 + [10] * 3)
    assert start_of(starts).numpy().tolist() == [0, 0, 0, 0, 4, 4, 4]
    assert walk(consumed, starts, begin).numpy().tolist() == [0, 0, 1, 3, 10, 12, 13]
