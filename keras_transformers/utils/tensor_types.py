"""The type of tensors in annotations, and the comparison of shapes that are known in part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# A tensor of the backend, with values or symbolic, or a NumPy array. Its dtype and shape are given in the docstring.
Tensor = Any


def may_be_equal(one: Sequence[int | None], other: Sequence[int | None]) -> bool:
    """Return whether two shapes can be equal; a size of None is unknown.

    Example:

    >>> may_be_equal((None, 1), (3, 1)), may_be_equal((2,), (3,))
    (True, False)
    """
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(None in pair or pair[0] == pair[1] for pair in pairs)
