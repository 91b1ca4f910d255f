"""Checks for sizes, counts, token ids and numbers, the same for all arguments. NumPy's scalars count too."""

from __future__ import annotations

import numbers
import operator
import sys
from typing import Any

MOST_FLOAT = sys.float_info.max


def is_numpy_scalar(value: Any) -> bool:
    """Return whether a value is a scalar of NumPy, which is not imported for it."""
    return any((kind.__module__, kind.__name__) == ("numpy", "generic") for kind in type(value).__mro__)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, and not True or False."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Return whether a value is a real number, not True or False, that a float can hold."""
    if not is_number(value):
        return False
    plain = value.item() if hasattr(value, "item") else value  # NumPy's float32 cannot be compared with the limits
    return -MOST_FLOAT <= plain <= MOST_FLOAT


def is_size(value: Any) -> bool:
    """Return whether a value is a positive integer, and not True."""
    return is_count(value) and operator.index(value) > 0


def is_count(value: Any) -> bool:
    """Return whether a value is an integer of at least 0, and not True or False."""
    try:
        return (
            type(value).__name__ not in ("bool", "bool_") and operator.index(value) >= 0
        )  # NumPy's, too, of any version
    except (TypeError, AttributeError):  # the latter from TensorFlow's scalars
        return False


def is_token_id(value: Any, vocabulary_size: int) -> bool:
    """Return whether a value is an integer in [0, vocabulary_size), and not True or False."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and 0 <= int(value) < vocabulary_size
