"""Turn rows into batches: shuffling, bucketing and accumulation weights, all determined by (seed, epoch, batch)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from keras_transformers.data.batches import token_count
from keras_transformers.data.sources.row_weights import multiplied
from keras_transformers.utils.number_checks import is_count, is_size

if TYPE_CHECKING:
    from keras_transformers.data.sources.protocols import EncodedRows, Objective

# Padded lengths: few, as XLA compiles once for each. Those between the powers of two halve the padding.
BUCKETS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192)
# For batches by token count: each length is at most a quarter more than the one before. Finer than BUCKETS, as less
# padding means more rows here. On Multi30k, with 4,096 tokens, 12 % of both sides are padding (BUCKETS: 33 %;
# fairseq, with a hundred shapes: 7 %).
FINE_BUCKETS = tuple((4 + quarter) << octave for octave in range(1, 12) for quarter in range(4))
# Rows are sorted by bucket within groups of this many batches, so that a batch stays nearly a random sample.
SORTED_BATCHES = 50
# One constant for each use of random numbers. It is part of the key: generators with different keys are independent.
DRAW, PLAN, BATCH = range(3)


@dataclass(frozen=True)
class Batching:
    """The checked settings of `pipeline.batches`."""

    batch_size: int | None
    seed: int
    shuffle: bool
    max_length: int
    buckets: tuple[int, ...]
    accumulation_steps: int
    drop_remainder: bool
    batch_tokens: int | None = None

    def __post_init__(self):
        if (self.batch_size is None) == (self.batch_tokens is None):
            raise ValueError(
                f"Received batch_size={self.batch_size} and batch_tokens={self.batch_tokens}: expected one of them, "
                "and None for the other."
            )
        least = {"batch_tokens": self.max_length} if self.batch_size is None else {"batch_size": 1}
        for name, number in {"max_length": 1, "accumulation_steps": 1, **least}.items():
            value = getattr(self, name)
            if not is_size(value) or value < number:
                raise ValueError(f"Received {name}={value!r}: expected a number of at least {number}, and whole.")
            object.__setattr__(self, name, int(value))
        if not is_count(self.seed):
            raise ValueError(f"Received seed={self.seed!r}: expected a number of at least 0, and whole.")
        if not all(map(is_size, self.buckets)):
            raise ValueError(f"Received buckets={self.buckets}: expected lengths in tokens, such as (16, 32, 64).")
        for name in ("shuffle", "drop_remainder"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"Received {name}={getattr(self, name)!r}: expected True or False.")

    @property
    def widths(self) -> np.ndarray:
        """The lengths to which batches are padded, ascending."""
        return np.array([*sorted(b for b in self.buckets if b < self.max_length), self.max_length])

    @property
    def macro_size(self) -> int:
        """Rows in one optimizer step."""
        return self.batch_size * self.accumulation_steps

    def rng(self, *key: int) -> np.random.Generator:
        """The generator for this seed and a key, such as (epoch, BATCH, number of the batch)."""
        return np.random.default_rng([self.seed, *key])

    def num_batches(self, lengths: np.ndarray) -> int:
        """Number of batches for rows of these lengths: constant over epochs, a multiple of `accumulation_steps`."""
        if self.batch_tokens:
            return len(self.plan(lengths, self.rng(0)))
        full, rest = divmod(len(lengths), self.macro_size)
        return (full + (rest >= self.accumulation_steps and not self.drop_remainder)) * self.accumulation_steps

    def plan(self, lengths: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """The row numbers of each batch.

        With `shuffle`, a batch holds rows of similar length, and the batches are in random order. The remaining rows,
        too few for a whole optimizer step, come last, in `accumulation_steps` batches of nearly equal size.
        """
        longest = lengths.max(axis=1) if lengths.ndim > 1 else lengths
        if self.batch_tokens:
            return self._plan_by_tokens(longest, rng)

        order = rng.permutation(len(lengths)) if self.shuffle else np.arange(len(lengths))
        full = len(order) - len(order) % self.macro_size
        batches, rest = order[:full], order[full:]
        if self.shuffle:
            for start in range(0, full, SORTED_BATCHES * self.batch_size):
                group = batches[start : start + SORTED_BATCHES * self.batch_size]
                group[:] = group[self._by_bucket(lengths[group])]

        batches = batches.reshape(-1, self.batch_size)  # (batches, batch_size)
        if self.shuffle:
            batches = rng.permutation(batches)
        if self.drop_remainder or len(rest) < self.accumulation_steps:
            return list(batches)
        return [*batches, *np.array_split(rest, self.accumulation_steps)]

    def _by_bucket(self, lengths: np.ndarray) -> np.ndarray:
        """The order by padded length. It is stable, so that rows of one bucket stay shuffled and epochs differ."""
        buckets = np.searchsorted(self.widths, lengths.reshape(len(lengths), -1))  # (rows, 1 or 2)
        return np.lexsort([*buckets.T, buckets.max(axis=1)])  # the last key is the primary one

    def _plan_by_tokens(self, lengths: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        widths = self.widths[np.minimum(np.searchsorted(self.widths, lengths), len(self.widths) - 1)]
        if self.shuffle:
            batches, rest = token_count.shuffled(widths, self.batch_tokens, rng)
        else:
            batches, rest = token_count.in_order(widths, self.batch_tokens)
        if rest.size and not self.drop_remainder:
            batches.append(rest)
        batches = token_count.divisible(batches, self.accumulation_steps)
        return [batches[i] for i in rng.permutation(len(batches))] if self.shuffle else batches


def whole_windows(parts: Iterable, batching: Batching) -> Iterator[tuple]:
    """Yields the windows of a stream, (number of the first batch, rows), from successive parts of its rows.

    A window holds whole optimizer steps: the remaining rows go into the next window. With `batch_tokens`, a window is a
    whole part, and its last batch may not be full.
    """
    first, rest = 0, []
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
        longest = rows.lengths.max(initial=0)
        if longest > batching.max_length:
            raise ValueError(
                f"Received a row of {longest} tokens, more than max_length={batching.max_length}: "
                "truncate when encoding, or raise max_length."
            )
        objective.check(rows)
        self.rows, self.objective, self.batching = rows, objective, batching
        self.epoch, self.first = epoch, first
        self.plan = batching.plan(rows.lengths, batching.rng(epoch, PLAN, first))
        self._group = (-1, [])

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, index: int) -> tuple:
        """Element `index`: (x,), (x, y) or, with gradient accumulation, (x, y, sample_weight)."""
        steps = self.batching.accumulation_steps
        if steps == 1:
            return self._batch(index)
        start = index - index % steps
        if self._group[0] != start:
            self._group = start, weighted([self._batch(i) for i in range(start, start + steps)])
        return self._group[1][index - start]

    def _batch(self, index: int) -> tuple:
        rows = self.rows[self.plan[index]]
        widths = self.batching.widths
        width = widths[np.searchsorted(widths, rows.lengths.max(axis=0))]
        return self.objective(rows, width, self.batching.rng(self.epoch, BATCH, self.first + index))


def weighted(group: list[tuple]) -> list[tuple]:
    """Adds sample weights to the micro-batches of an optimizer step: their mean loss is then that of one large batch.

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


def _weights(labels: list[np.ndarray]) -> list[np.ndarray]:
    """The weights of each micro-batch, from its number of targets."""
    # Negative integer labels are not targets; a row of float labels is one target.
    integer = np.issubdtype(labels[0].dtype, np.integer)
    counts = np.array([np.count_nonzero(y >= 0) if integer else len(y) for y in labels])  # (k,)
    scales = len(labels) * counts / max(counts.sum(), 1)  # (k,)
    return [
        np.full(y.shape if integer else y.shape[:1], scale, np.float32) for y, scale in zip(labels, scales, strict=True)
    ]
