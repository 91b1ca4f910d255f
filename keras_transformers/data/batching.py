"""How rows become batches: shuffling, bucketing and accumulation weights, all from (seed, epoch, batch)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_transformers.data.rows import Rows

# Few lengths, so that XLA sees few shapes; the steps between powers of two halve the padding.
BUCKETS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192)
# Rows are sorted by length among so many batches only, so that a batch stays a random sample.
SORTED_BATCHES = 50
# What a random stream is for: streams with different keys are independent.
DRAW, PLAN, BATCH = range(3)


@dataclass(frozen=True)
class Batching:
    """The settings of `pipeline.batches`, checked once."""

    batch_size: int
    seed: int
    shuffle: bool
    max_length: int
    buckets: tuple[int, ...]
    accumulation_steps: int
    drop_remainder: bool

    def __post_init__(self):
        for name in ("batch_size", "max_length", "accumulation_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"Received {name}={getattr(self, name)}: expected a number of at least 1.")
        if self.seed < 0:
            raise ValueError(f"Received seed={self.seed}: expected a number of at least 0.")

    @property
    def widths(self) -> np.ndarray:
        """The lengths to which batches are padded, ascending."""
        return np.array([*sorted(b for b in self.buckets if b < self.max_length), self.max_length])

    @property
    def macro_size(self) -> int:
        """Rows in one optimizer step."""
        return self.batch_size * self.accumulation_steps

    def rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *key])

    def num_batches(self, num_rows: int) -> int:
        """Batches in an epoch: the same every epoch, and a multiple of `accumulation_steps`."""
        full, rest = divmod(num_rows, self.macro_size)
        return (full + (rest >= self.accumulation_steps and not self.drop_remainder)) * self.accumulation_steps

    def plan(self, lengths: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """Row numbers of each batch; with `shuffle`, rows of like length stand together and the batches are mixed.

        The rows that fill no batch come last, dealt evenly to `accumulation_steps` batches.
        """
        order = rng.permutation(len(lengths)) if self.shuffle else np.arange(len(lengths))
        full = len(order) - len(order) % self.macro_size
        batches, rest = order[:full], order[full:]
        if self.shuffle:
            for start in range(0, full, SORTED_BATCHES * self.batch_size):
                window = batches[start : start + SORTED_BATCHES * self.batch_size]
                window[:] = window[np.argsort(lengths[window], kind="stable")]
        batches = batches.reshape(-1, self.batch_size)
        if self.shuffle:
            batches = rng.permutation(batches)
        if self.drop_remainder or len(rest) < self.accumulation_steps:
            return list(batches)
        return [*batches, *np.array_split(rest, self.accumulation_steps)]


class Window:
    """The batches of rows that are in memory: a sequence whose elements are made on demand, in any order."""

    def __init__(self, rows: Rows, objective, batching: Batching, epoch: int, first: int = 0):
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
        width = int(widths[np.searchsorted(widths, rows.lengths.max())])
        return self.objective(rows, width, self.batching.rng(self.epoch, BATCH, self.first + index))


def weighted(group: list[tuple]) -> list[tuple]:
    """Gives the micro-batches of one optimizer step the weights that make their mean the macro-batch's loss.

    Each loss is divided by its own number of targets n, and Keras takes the mean over k micro-batches;
    the weight k * n_micro / n_macro undoes both.
    """
    if len(group[0]) < 2:
        raise ValueError("Received accumulation_steps > 1 for rows without labels: expected labels to train on.")
    if not isinstance(group[0][1], dict):
        weights = _weights([y for _, y in group])
    else:
        columns = {name: _weights([y[name] for _, y in group]) for name in group[0][1]}
        weights = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [(x, y, weight) for (x, y), weight in zip(group, weights, strict=True)]


def _weights(labels: list[np.ndarray]) -> list[np.ndarray]:
    # Integer labels below 0 are no targets; a row of float labels is one target.
    integer = np.issubdtype(labels[0].dtype, np.integer)
    counts = np.array([np.count_nonzero(y >= 0) if integer else len(y) for y in labels])
    scales = len(labels) * counts / max(counts.sum(), 1)
    return [
        np.full(y.shape if integer else y.shape[:1], scale, np.float32) for y, scale in zip(labels, scales, strict=True)
    ]
