"""The inputs of exported signatures that take text."""

from __future__ import annotations

import tensorflow as tf

TEXT = tf.TensorSpec([None], tf.string, name="text")
TEXT_PAIR = tf.TensorSpec([None], tf.string, name="text_pair")


def with_rows(columns: dict[str, tf.Tensor], rows: tf.Tensor) -> dict[str, tf.Tensor]:
    """The columns, after assertions that each has so many rows.

    All of them pass the assertions: an op that takes one without could fail first, with a message that helps less.
    """
    message = "{name} must have one row for each text."
    checks = [
        tf.debugging.assert_equal(tf.shape(column)[0], rows, message.format(name=name))
        for name, column in columns.items()
    ]
    with tf.control_dependencies(checks):
        return tf.nest.map_structure(tf.identity, columns)
