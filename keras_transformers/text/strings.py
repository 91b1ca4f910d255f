"""Arrays of strings, and the pattern of blank ones."""

from __future__ import annotations

import numpy as np

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
