"""Settings of batches, and the rows of each batch, determined by (seed, epoch, batch)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keras_transformers.data.batches import token_count
from keras_transformers.utils.number_checks import is_count, is_size

# Padded lengths: few, as XLA compiles once for each. The lengths between the powers of two halve the padding.
BUCKETS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192)
# For batches by token count: each length is at most a quarter more than the one before. Finer than BUCKETS, as less
# padding means more rows here. On Multi30k, with 4,096 tokens, 12 % of both sides are padding (BUCKETS: 33 %;
# fairseq, with a hundred shapes: 7 %).
FINE_BUCKETS = tuple((4 + quarter) << octave for octave in range(1, 12) for quarter in range(4))
# Rows are sorted by bucket within groups of this many batches, so that a batch stays nearly a random sample.
SORTED_BATCHES = 50
# One constant for each use of random numbers. It is part of the key: generators with different keys are independent.
DRAW, PLAN, BATCH = range(3)


def bucket(number: int, most: int) -> int:
    """Return the smallest bucket that holds a number of tokens; `most` where none below it does.

    Example:

    >>> bucket(20, most=256), bucket(200, most=250)
    (32, 250)
    """
    return next((size for size in BUCKETS if number <= size < most), most)


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is at least `number`: sizes of few shapes, as XLA compiles each.

    Example:

    >>> [power_of_two(number) for number in (0, 1, 2, 5)]
    [1, 1, 2, 8]
    """
    return 1 << max(int(number) - 1, 0).bit_length()


@dataclass
class Position:
    """The position in a data set at which the next pass starts; assign to its fields to resume.

    Args:
        epoch: int, determines the shuffle and the masks.
        batch: int, number of batches of that epoch to skip.
    """

    epoch: int = 0
    batch: int = 0


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
    steps_per_epoch: int | None = None
    pad_remainder: bool = False

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
                raise ValueError(f"Received {name}={value!r}: expected a whole number of at least {number}.")
            object.__setattr__(self, name, int(value))
        steps = self.steps_per_epoch
        if steps is not None and not (is_size(steps) and steps % self.accumulation_steps == 0):
            raise ValueError(
                f"Received steps_per_epoch={steps!r}: expected None, or a positive multiple of "
                f"accumulation_steps={self.accumulation_steps}."
            )
        if not is_count(self.seed):
            raise ValueError(f"Received seed={self.seed!r}: expected a whole number of at least 0.")
        if not all(map(is_size, self.buckets)):
            raise ValueError(f"Received buckets={self.buckets}: expected lengths in tokens, such as (16, 32, 64).")
        for name in ("shuffle", "drop_remainder", "pad_remainder"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"Received {name}={getattr(self, name)!r}: expected True or False.")
        if self.pad_remainder and (self.drop_remainder or self.batch_tokens):
            other = "drop_remainder=True" if self.drop_remainder else f"batch_tokens={self.batch_tokens}"
            raise ValueError(f"Received pad_remainder=True and {other}: leave one of them out.")

    @property
    def widths(self) -> np.ndarray:
        """Return the lengths to which batches are padded, ascending."""
        return np.array([*sorted(b for b in self.buckets if b < self.max_length), self.max_length])

    @property
    def macro_size(self) -> int:
        """Rows in one optimizer step."""
        return self._batch_rows * self.accumulation_steps

    def place(self, epoch: int, batch: int, num_batches: int) -> tuple[int, int]:
        """Return the pass over the rows, and its batch, of a batch of an epoch.

        Without `steps_per_epoch` an epoch is a pass; with it, the epochs are parts of an endless sequence of passes.

        Args:
            epoch, batch: int.
            num_batches: int, of a pass.
        """
        if self.steps_per_epoch is None:
            return epoch, batch
        return divmod(epoch * self.steps_per_epoch + batch, num_batches)

    @property
    def _batch_rows(self) -> int:
        if self.batch_size is None:
            raise ValueError(f"batches of {self.batch_tokens} tokens have no fixed number of rows.")
        return self.batch_size

    def rng(self, *key: int) -> np.random.Generator:
        """Return the generator for this seed and a key, such as (epoch, BATCH, number of the batch)."""
        return np.random.default_rng([self.seed, *key])

    def num_batches(self, lengths: np.ndarray) -> int:
        """Return the number of batches for rows of these lengths: constant over epochs, a multiple of
        `accumulation_steps`.
        """
        if self.batch_tokens:
            return len(self.plan(lengths, self.rng(0)))
        full, rest = divmod(len(lengths), self.macro_size)
        return (full + (rest >= self.accumulation_steps and not self.drop_remainder)) * self.accumulation_steps

    def plan(self, lengths: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """Return the row numbers of each batch.

        With `shuffle`, a batch holds rows of similar length, and the batches are in random order. The remaining rows,
        too few for a whole optimizer step, come last, in `accumulation_steps` batches of nearly equal size.
        """
        longest = lengths.max(axis=1) if lengths.ndim > 1 else lengths
        if self.batch_tokens:
            return self._plan_by_tokens(longest, self.batch_tokens, rng)

        order = rng.permutation(len(lengths)) if self.shuffle else np.arange(len(lengths))
        full = len(order) - len(order) % self.macro_size
        batches, rest = order[:full], order[full:]
        if self.shuffle:
            for start in range(0, full, SORTED_BATCHES * self._batch_rows):
                group = batches[start : start + SORTED_BATCHES * self._batch_rows]
                group[:] = group[self._by_bucket(lengths[group])]

        batches = batches.reshape(-1, self._batch_rows)  # (batches, batch_size)
        if self.shuffle:
            batches = rng.permutation(batches)
        if self.drop_remainder or len(rest) < self.accumulation_steps:
            return list(batches)
        return [*batches, *np.array_split(rest, self.accumulation_steps)]

    def _by_bucket(self, lengths: np.ndarray) -> np.ndarray:
        """Return the order by padded length: stable, so that rows of one bucket stay shuffled and epochs differ."""
        buckets = np.searchsorted(self.widths, lengths.reshape(len(lengths), -1))  # (rows, 1 or 2)
        return np.lexsort([*buckets.T, buckets.max(axis=1)])  # the last key is the primary one

    def _plan_by_tokens(self, lengths: np.ndarray, tokens: int, rng: np.random.Generator) -> list[np.ndarray]:
        widths = self.widths[np.minimum(np.searchsorted(self.widths, lengths), len(self.widths) - 1)]
        if self.shuffle:
            batches, rest = token_count.shuffled(widths, tokens, rng)
        else:
            batches, rest = token_count.in_order(widths, tokens)
        if rest.size and not self.drop_remainder:
            batches.append(rest)
        batches = token_count.divisible(batches, self.accumulation_steps)
        return [batches[i] for i in rng.permutation(len(batches))] if self.shuffle else batches
