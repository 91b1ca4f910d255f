"""The inputs of exported signatures that take text."""

from __future__ import annotations

import tensorflow as tf

TEXT = tf.TensorSpec([None], tf.string, name="text")


def with_rows(columns: dict[str, tf.Tensor], rows: tf.Tensor, of: str = "text") -> dict[str, tf.Tensor]:
    """Return the columns, with an assertion that each has `rows` rows, one for each `of`.

    All columns depend on all assertions: otherwise another op could fail first, with a less helpful message.
    """
    checks = [
        tf.debugging.assert_equal(tf.shape(column)[0], rows, f"{name} must have one row for each {of}.")
        for name, column in columns.items()
    ]
    with tf.control_dependencies(checks):
        return tf.nest.map_structure(tf.identity, columns)
