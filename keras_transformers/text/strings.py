"""Columns of strings: rows that belong together, bytes to decode, and the pattern of blank ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import tensorflow as tf

# Matches the texts that `str.strip` makes empty, in the syntax of TensorFlow's regular expressions.
BLANK = r"[\s\v\x1c-\x1f\x{85}\pZ]*"


def decoded(column: np.ndarray) -> np.ndarray:
    """Decode the bytes in an array, if it has any, to `str`.

    Args:
        column: Array of any dtype; objects in it are bytes in UTF-8.

    Example:

    >>> decoded(np.array([[b"a", "ä".encode()]], object)).tolist()
    [['a', 'ä']]
    """
    return np.vectorize(bytes.decode, otypes=[object])(column) if column.dtype == object else column


def with_rows(columns: dict[str, tf.Tensor], rows: tf.Tensor, of: str = "text") -> dict[str, tf.Tensor]:
    """Return the columns, with an assertion that each has `rows` rows, one for each `of`.

    All columns depend on all assertions: otherwise another op could fail first, with a less helpful message.
    """
    import tensorflow as tf

    checks = [
        tf.debugging.assert_equal(tf.shape(column)[0], rows, f"{name} must have one row for each {of}.")
        for name, column in columns.items()
    ]
    with tf.control_dependencies(checks):
        return tf.nest.map_structure(tf.identity, columns)
