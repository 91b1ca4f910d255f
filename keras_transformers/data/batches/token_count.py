"""Batches by token count: the number of rows times the length to which they are padded.

The lengths of a data set determine the number of batches and their shapes, so both are the same in every epoch.
"""

from __future__ import annotations

import numpy as np


def shuffled(widths: np.ndarray, batch_tokens: int, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the row numbers of full batches, each with rows of one width, and of the remaining rows.

    Rows of a width that do not fill a batch are padded to the next width, rather than making a batch of another shape.

    Args:
        widths: (rows,) int, the length to which each row is padded.
        batch_tokens: int, the maximum of rows * width; at least the largest width.
        rng: `np.random.Generator`.

    >>> batches, rest = shuffled(np.array([2, 4, 2, 2, 4]), 4, np.random.default_rng(0))
    >>> [len(batch) for batch in batches], rest.size  # two short rows; one short, padded, and two long ones
    ([2, 1, 1, 1], 0)
    """
    order = rng.permutation(len(widths))
    batches, rest = [], order[:0]
    for width in np.unique(widths):
        rows = np.concatenate([rest, order[widths[order] == width]])
        size = batch_tokens // width
        full = len(rows) - len(rows) % size
        batches += list(rows[:full].reshape(-1, size))
        rest = rows[full:]
    return batches, rest


def in_order(widths: np.ndarray, batch_tokens: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return batches as `shuffled` does, but in order: widths are mixed, and batches differ in their number of rows.

    >>> batches, rest = in_order(np.array([2, 4, 2, 2, 4]), 4)
    >>> [batch.tolist() for batch in batches], rest.tolist()
    ([[0], [1], [2, 3]], [4])
    """
    starts, widest = [0], 0
    for row, width in enumerate(widths.tolist()):
        widest = max(widest, width)
        if (row + 1 - starts[-1]) * widest > batch_tokens:
            starts.append(row)
            widest = width
    *batches, rest = np.split(np.arange(len(widths)), starts[1:])
    return batches, rest


def divisible(batches: list[np.ndarray], steps: int) -> list[np.ndarray]:
    """Halve the batches with the most rows until the number of batches is a multiple of `steps`.

    If no batch can be halved, the batches beyond the last multiple are left out.

    >>> [batch.tolist() for batch in divisible([np.array([7, 8]), np.array([3])], 3)]
    [[7], [8], [3]]
    """
    batches = list(batches)
    while len(batches) % steps:
        largest = max(range(len(batches)), key=lambda index: len(batches[index]))
        if len(batches[largest]) < 2:
            return batches[: len(batches) - len(batches) % steps]
        batches[largest : largest + 1] = np.array_split(batches[largest], 2)
    return batches
