"""Rows of parts, by hand; `test_post_process.py` compares whole templates with the library."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_transformers.text.graph.outputs.row_layout import Part, lay_out, model_inputs
from keras_transformers.text.graph.streams.streams import Tracked, stream

TEXTS = stream(tf.constant([10, 11, 12, 13]), tf.constant([0, 1, 1, 4], tf.int64))
SPANS = tf.constant([[0, 2, 0], [3, 4, 0], [4, 5, 1], [5, 6, 2]])


@pytest.mark.parametrize("is_tracked", [False, True])
def test_parts_side_by_side(is_tracked):
    """A special token in each row, and two tokens of a text in the last."""
    lengths = tf.constant([0, 0, 2])
    special = Part(tf.constant([7]), None, tf.zeros_like(lengths), tf.ones_like(lengths), 0)
    text = Part.of_text(Tracked(TEXTS, SPANS) if is_tracked else TEXTS, tf.constant([0, 1, 2]), lengths, 1, 0)
    rows = {name: column.numpy().tolist() for name, column in lay_out([special, text], 99, None).items()}
    assert rows.pop("token_ids") == [[7, 99, 99], [7, 99, 99], [7, 12, 13]]
    assert rows.pop("segment_ids") == [[0, 0, 0], [0, 0, 0], [0, 1, 1]]
    assert rows.pop("padding_mask") == [[True, False, False], [True, False, False], [True] * 3]
    if is_tracked:
        assert rows.pop("offsets") == [[[0, 0]] * 3, [[0, 0]] * 3, [[0, 0], [4, 5], [5, 6]]]
        assert rows.pop("word_ids") == [[-1] * 3, [-1] * 3, [-1, 1, 2]]
        assert rows.pop("sequence_ids") == [[-1] * 3, [-1] * 3, [-1, 0, 0]]
    assert not rows


def test_trimming_is_told_the_first_token_of_each_part():
    told = []

    def trim(offsets, spaces, is_first):
        told.extend([spaces.numpy()[1].tolist(), is_first.numpy().tolist()])
        return offsets + 1

    spans = tf.concat([SPANS, tf.constant([[0, 0], [1, 0], [0, 1], [1, 1]])], 1)
    part = Part.of_text(Tracked(TEXTS, spans), tf.constant([0, 2]), tf.constant([1, 2]), 0, 0)
    rows = lay_out([part, part], 0, trim)
    assert rows["offsets"].numpy()[1].tolist() == [[5, 6], [6, 7], [5, 6], [6, 7]]
    assert told == [[[0, 1], [1, 1]] * 2, [[True, True, False, False], [True, False, True, False]]]


@pytest.mark.parametrize("length", [None, 5])
def test_rows_as_inputs_of_a_model(length):
    mask, cut = tf.constant([[True, True], [True, False]]), tf.constant([True, False])
    rows = {"token_ids": tf.constant([[5, 6], [7, 9]]), "padding_mask": mask, "truncated": cut}
    inputs = model_inputs(rows, 9, length)
    more = 0 if length is None else length - 2
    assert inputs["token_ids"].numpy().tolist() == [[5, 6] + [9] * more, [7, 9] + [9] * more]
    assert inputs["padding_mask"].numpy().tolist() == [[1, 1] + [0] * more, [1, 0] + [0] * more]
    assert inputs["truncated"] is cut
    seen = []
    spec = {name: tf.TensorSpec([None] * row.shape.rank, row.dtype) for name, row in rows.items()}
    trace = tf.function(lambda rows: seen.append(model_inputs(rows, 9, length)["token_ids"].shape.as_list()))
    trace.get_concrete_function(spec)
    assert seen == [[None, length]]
