"""Windows: batches of rows in memory, made on demand, with weights for gradient accumulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np

from keras_transformers.data.batches.batching import BATCH, PLAN, Batching
from keras_transformers.data.batches.own_rows import OwnDraws, Share
from keras_transformers.data.batches.protocols import EncodedRows, Objective


def whole_windows(parts: Iterable, batching: Batching) -> Iterator[tuple]:
    """Yield the windows of a stream, (number of the first batch, rows), from successive parts of its rows.

    A window holds whole optimizer steps: the remaining rows go into the next window. With `batch_tokens`, a window is a
    whole part, and its last batch may not be full.
    """
    first = 0
    rest: list[Any] = []
    for rows in parts:
        rows = type(rows).concatenated([*rest, rows])
        full = rows.num_rows - (0 if batching.batch_tokens else rows.num_rows % batching.macro_size)
        if full:
            yield first, rows[:full]
        first += batching.num_batches(rows.lengths[:full])
        rest = [rows[full:]]
    if rest and rest[0].num_rows:
        yield first, rest[0]


class Window:
    """The batches of rows in memory: a sequence whose elements are made on demand, in any order.

    Args:
        rows: the rows.
        objective: makes an element from the rows of a batch.
        batching: the settings.
        epoch: int, determines the shuffle and the masks.
        first: int, the number in the epoch of the window's first batch.

    Raises:
        ValueError: a row is longer than `max_length`, or the objective refuses the rows.
    """

    def __init__(self, rows: EncodedRows, objective: Objective, batching: Batching, epoch: int, first: int = 0):
        self._lengths = rows.lengths
        longest = self._lengths.max(initial=0)
        if longest > batching.max_length:
            raise ValueError(
                f"Received a row of {longest} tokens, more than max_length={batching.max_length}: "
                "truncate when encoding, or raise max_length."
            )
        self._is_unread = getattr(rows, "is_unread", False)
        if not self._is_unread:
            objective.check(rows)
        self.rows, self.objective, self.batching = rows, objective, batching
        self.epoch, self.first = epoch, first
        self.plan = batching.plan(self._lengths, batching.rng(epoch, PLAN, first))
        self._group: tuple[int, list[tuple]] = (-1, [])

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, index: int) -> tuple:
        """Return element `index`: (x,), (x, y) or, with gradient accumulation, (x, y, sample_weight)."""
        steps = self.batching.accumulation_steps
        if steps == 1:
            return self._batch(index)
        start = index - index % steps
        if self._group[0] != start:
            self._group = start, weighted([self._batch(i) for i in range(start, start + steps)])
        return self._group[1][index - start]

    def part(self, index: int, share: Share) -> tuple:
        """Return a share of the rows of element `index`, as they are in the whole; see `is_shared`."""
        num_rows = len(self.plan[index])
        own = share.rows(num_rows)
        if own.start < own.stop:
            return self._batch(index, own)
        return keras.tree.map_structure(lambda values: values[:0], self._batch(index, slice(1)))

    def _batch(self, index: int, own: slice | None = None) -> tuple:
        numbers, widths = self.plan[index], self.batching.widths
        width = widths[np.searchsorted(widths, self._lengths[numbers].max(axis=0))]
        rng: Any = self.batching.rng(self.epoch, BATCH, self.first + index)
        if own is not None:
            numbers, rng = numbers[own], OwnDraws(rng, own, len(numbers))
        rows = self.rows[numbers]
        if self._is_unread:
            self.objective.check(rows)
        element = self.objective(rows, width, rng)
        return filled(element, self.batching.batch_size or 0) if self.batching.pad_remainder else element


def is_shared(objective: Objective, batching: Batching) -> bool:
    """Return whether each of several workers can make its rows of a batch without the rows of the others."""
    if batching.accumulation_steps > 1 or batching.pad_remainder:
        return False
    return getattr(objective, "is_row_wise", False)


def filled(element: tuple, size: int) -> tuple:
    """Add rows without a target to an element, up to `size` rows: copies of the first row with labels of -1 or NaN.

    Example:

    >>> inputs, labels = filled((np.array([[5, 6]]), np.array([1])), 2)
    >>> inputs.tolist(), labels.tolist()
    ([[5, 6], [5, 6]], [1, -1])
    """
    inputs, *targets = element
    missing = size - len(keras.tree.flatten(inputs)[0])
    if missing <= 0:
        return element

    def copied(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.repeat(array[:1], missing, 0)])

    def without_target(labels: np.ndarray) -> np.ndarray:
        value = -1 if np.issubdtype(labels.dtype, np.integer) else np.nan
        return np.concatenate([labels, np.full((missing, *labels.shape[1:]), value, labels.dtype)])

    fillers = (copied, without_target, copied)  # of inputs, labels, sample weights
    return tuple(keras.tree.map_structure(fill, part) for fill, part in zip(fillers, (inputs, *targets), strict=False))


def weighted(group: list[tuple]) -> list[tuple]:
    """Add sample weights to the micro-batches of an optimizer step, so that their mean loss equals one large batch's.

    The loss of a micro-batch is divided by its number of targets, n_micro, and the optimizer averages over the k
    micro-batches. The weight k * n_micro / n_macro, with n_macro targets in all, corrects both.
    """
    if len(group[0]) < 2:
        raise ValueError("Received accumulation_steps > 1 for rows without labels: expected labels to train on.")
    if not isinstance(group[0][1], dict):
        weights = _weights([element[1] for element in group])
    else:
        columns = {name: _weights([element[1][name] for element in group]) for name in group[0][1]}
        weights = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [multiplied(element, weight) for element, weight in zip(group, weights, strict=True)]


def _weights(labels: list[np.ndarray]) -> list[Any]:
    """Return the weights of each micro-batch, from its number of targets."""
    # Negative integer labels are not targets; a row of float labels is one target, unless they are all NaN.
    integer = np.issubdtype(labels[0].dtype, np.integer)
    counts = np.array([np.count_nonzero(y >= 0 if integer else _has_number(y)) for y in labels])  # (k,)
    scales = len(labels) * counts / max(counts.sum(), 1)  # (k,)
    return [
        np.full(y.shape if integer else y.shape[:1], scale, np.float32) for y, scale in zip(labels, scales, strict=True)
    ]


def _has_number(labels: np.ndarray) -> np.ndarray:
    """Return which rows (B, ...) hold a number that is not NaN, (B,)."""
    return ~np.isnan(labels).reshape(len(labels), -1).all(axis=1)


def multiplied(element: tuple, weight: Any) -> tuple:
    """Multiply the sample weights of an element by others; set them if it has none.

    Args:
        element: (inputs, labels) or (inputs, labels, sample weights), the last two by output or one array each.
        weight: (B,) or of the shape of the labels; by output, or one array for all outputs.
    """
    x, y, *sample_weights = element
    if isinstance(y, dict) and not isinstance(weight, dict):
        weight = dict.fromkeys(y, weight)
    if not sample_weights:
        return x, y, weight
    (sample_weight,) = sample_weights
    if not isinstance(y, dict):
        return x, y, _product(weight, sample_weight)
    return x, y, {name: _product(weight[name], sample_weight[name]) for name in weight}


def _product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the broadcast product of (B,) and (B, ...) arrays, in either order."""
    rank = max(one.ndim, other.ndim)
    one, other = (array.reshape(array.shape + (1,) * (rank - array.ndim)) for array in (one, other))
    return one * other
