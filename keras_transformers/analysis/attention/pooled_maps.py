"""Pooled attention maps of long texts: neighbouring tokens become one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from keras import ops


def group_bounds(length: int, most: int) -> list[tuple[int, int]]:
    """Return begin and end of at most `most` groups of neighbours, whose sizes differ by one token at most.

    Example:

    >>> group_bounds(5, 2), group_bounds(2, 4)
    ([(0, 2), (2, 5)], [(0, 1), (1, 2)])
    """
    edges = np.linspace(0, length, min(length, most) + 1).astype(int).tolist()
    return list(pairwise(edges))


def pooled(scores: Any, most: int) -> np.ndarray:
    """Return maps of at most `most` rows and columns: the attention of groups of tokens to groups of tokens.

    A row is the mean over the queries of a group, a column the sum over its keys, so that the sums of rows stay.

    Args:
        scores: (..., T, S).
        most: Rows and columns, at least 1.

    Returns:
        float32 (..., min(T, most), min(S, most)).

    Raises:
        ValueError: `most` is less than 1.

    Example:

    >>> pooled(np.full((1, 1000, 1000), 0.001), 4).round(3)[0, 0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if most < 1:
        raise ValueError(f"most must be at least 1: received {most}.")
    scores = np.asarray(ops.convert_to_numpy(scores), "float32")
    rows, columns = (np.array(group_bounds(length, most)) for length in scores.shape[-2:])
    sums = np.add.reduceat(scores, rows[:, 0], axis=-2)
    means = sums / (rows[:, 1] - rows[:, 0])[:, None]
    return np.add.reduceat(means, columns[:, 0], axis=-1)
