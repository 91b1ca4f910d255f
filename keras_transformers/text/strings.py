"""Arrays of strings."""

from __future__ import annotations

import numpy as np


def decoded(column: np.ndarray) -> np.ndarray:
    """The array with its bytes, if it has any, as `str`.

    Args:
        column: Any dtype; objects in it are bytes in UTF-8.

    Example:

    >>> decoded(np.array([[b"a", "ä".encode()]], object)).tolist()
    [['a', 'ä']]
    """
    return np.vectorize(bytes.decode, otypes=[object])(column) if column.dtype == object else column
