"""The word and the place of each token, by hand."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.outputs.locate import locate
from keras_transformers.text.graph.streams.streams import Tracked
from keras_transformers.text.graph.streams.tracking import tracked


def test_spans_and_words_count_from_the_start_of_the_text():
    """Of three texts of 1, 9 and 4 letters, nothing, three letters and two were left."""
    typed = tracked(tf.RaggedTensor.from_row_lengths(tf.range(14), tf.constant([1, 9, 4], tf.int64)))
    left = tf.RaggedTensor.from_row_lengths(tf.range(5), tf.constant([0, 3, 2], tf.int64))
    points = Tracked(left, tf.constant([[2, 3], [3, 5], [8, 9], [10, 11], [11, 12]]))
    starts = tf.constant([True, False, True, True, True])  # two words each
    tokens = tf.RaggedTensor.from_row_lengths([30, 31, 32, 33], tf.constant([0, 3, 1], tf.int64))
    ids = Tracked(tokens, tf.constant([[0, 2], [1, 2], [2, 3], [4, 5]]))
    found = locate(typed, points, starts, ids, None)
    assert found.points.to_list() == [[], [30, 31, 32], [33]]
    assert found.spans.numpy().tolist() == [[1, 4, 0], [2, 4, 0], [7, 8, 1], [1, 2, 1]]
