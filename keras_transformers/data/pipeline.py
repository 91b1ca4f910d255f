"""The one entrance: a source and an objective in, a data set for `model.fit` out.

A source has `num_rows` (`None` if unknown), `sample()`, a few of its `Rows`, and `windows(batching, epoch, skip)`, that
yields (number of the first batch, `Rows`) for rows that are in memory together, from the window of batch `skip` on.
For batches by token count it has `lengths`, of all rows and the same every epoch, or `None` if unknown.
An objective has `check(rows)`, which raises, and `__call__(rows, width, rng)`, which makes an element of the data set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import keras
import numpy as np

from keras_transformers.data.batching import BATCH, BUCKETS, FINE_BUCKETS, Batching, Window, weighted
from keras_transformers.data.identity import identity

# Elements that tf.data prepares ahead. A number, as autotune makes `fit` stall for seconds.
PREFETCH = 4


@dataclass
class Position:
    """Where the next pass over a data set starts; assign to it to resume.

    Args:
        epoch: int, which shuffle and which masks.
        batch: int, batches of that epoch to leave out.
    """

    epoch: int = 0
    batch: int = 0


def batches(
    source,
    objective,
    batch_size: int | None = None,
    *,
    batch_tokens: int | None = None,
    max_length: int,
    seed: int = 0,
    shuffle: bool = True,
    buckets: Sequence[int] | None = None,
    accumulation_steps: int = 1,
    drop_remainder: bool = False,
):
    """Makes the data set that `model.fit` takes.

    Everything in it follows from (seed, epoch, batch): it can be reproduced and resumed. Each pass takes the next
    epoch of `dataset.position`, so `fit(epochs=n)` sees n shuffles (and n sets of masks).

    Args:
        source: `Rows`, `SentencePairs`, `Packed`, `Blocks`, `Stream`, `TokenStream`, `Translations` or
            `TranslationStream`.
        objective: `Classification`, `MaskedLM`, `Pretraining`, `NextToken`, `Translation`, `SpanCorruption` or
            `TextInfilling`.
        batch_size: int, rows in a batch (over all replicas).
        batch_tokens: int, instead of `batch_size`: rows times their padded length (of two sides, the longer one) in a
            batch, at most. As `--max-tokens` of fairseq. Rows of like length stand together.
        max_length: int, tokens; a longer row is an error.
        seed: int.
        shuffle: bool. If False, rows stay in order and every pass is the same one, masks included: for evaluation.
        buckets: lengths in tokens; a batch is padded to the next of them, or to max_length. `()` for max_length always;
            `None` for lengths that suit.
        accumulation_steps: int, the optimizer's `gradient_accumulation_steps`: batches then carry sample weights
            such that the accumulated step equals that of one large batch.
        drop_remainder: bool, leave out the rows that fill no batch.

    Returns:
        A `tf.data.Dataset` (TensorFlow backend) or a `keras.utils.PyDataset`, with the attribute `position` and
        the method `identity` (see `data.identity`).

    Raises:
        ValueError: a setting or label is out of range, a row is too long, or there is not even one batch.

    Example:

    >>> from keras_transformers.data.classification import Classification
    >>> from keras_transformers.data.rows import Rows
    >>> rows = Rows.of([[2, 9, 3], [2, 8, 8, 3]], labels=[1, 0])
    >>> dataset = batches(rows, Classification(num_classes=2), 2, max_length=32, shuffle=False)
    >>> x, y = next(iter(dataset))
    >>> tuple(x["token_ids"].shape), np.asarray(y).tolist()
    ((2, 16), [1, 0])
    """
    if buckets is None:
        buckets = BUCKETS if batch_tokens is None else FINE_BUCKETS
    batching = Batching(
        batch_size, seed, shuffle, max_length, tuple(buckets), accumulation_steps, drop_remainder, batch_tokens
    )
    num_batches = _num_batches(source, batching)
    if keras.backend.backend() == "tensorflow":
        return _tf_dataset(source, objective, batching, num_batches)
    if num_batches is None:
        raise ValueError("A Stream needs the TensorFlow backend: set KERAS_BACKEND=tensorflow, or pass lists.")
    return BatchSequence(source, objective, batching, num_batches)


def _num_batches(source, batching: Batching) -> int | None:
    """Batches in an epoch; `None` for a stream."""
    if batching.batch_tokens and not hasattr(source, "lengths"):
        raise ValueError(
            f"Received batch_tokens={batching.batch_tokens} for {type(source).__name__}, whose lengths differ every "
            f"epoch or are all max_length: use batch_size, such as {batching.batch_tokens // batching.max_length}."
        )
    if source.num_rows is None:
        return None
    count = batching.num_batches(source.lengths if batching.batch_tokens else np.zeros(source.num_rows))
    if not count:
        size = batching.batch_size or f"{batching.batch_tokens} tokens"
        raise ValueError(
            f"Received {source.num_rows} rows: not enough for one step of {batching.accumulation_steps} batches of "
            f"{size}."
        )
    return count


def epoch_batches(source, objective, batching: Batching, epoch: int, skip: int) -> Iterator[tuple]:
    """The elements of one epoch but for the first `skip`, for which no work is done."""
    for first, rows in source.windows(batching, epoch, skip):
        window = Window(rows, objective, batching, epoch, first)
        for index in range(max(0, skip - first), len(window)):
            yield window[index]


def _tf_dataset(source, objective, batching: Batching, num_batches: int | None):
    import tensorflow as tf

    position = Position()

    def generate():
        epoch, skip = position.epoch, position.batch
        # Now, and not at the end: elements are prepared ahead, so the end comes at no certain time. (Under a strategy
        # Keras looks at one batch before it trains; that takes an epoch's number.)
        position.epoch, position.batch = epoch + 1, 0
        yield from epoch_batches(source, objective, batching, epoch if batching.shuffle else 0, skip)

    dataset = tf.data.Dataset.from_generator(generate, output_signature=_signature(source, objective, batching))
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    dataset = dataset.prefetch(PREFETCH).with_options(options)
    dataset.position = position
    dataset.identity = partial(identity, source, objective, batching)
    if num_batches is not None:
        # For Keras' progress. Not `assert_cardinality`: a resumed epoch is shorter, which that makes an error.
        dataset.cardinality = lambda: tf.constant(num_batches, tf.int64)
    return dataset


def _signature(source, objective, batching: Batching):
    """Shapes and types of an element; an axis is free if it differs between the shortest and the longest bucket."""
    import tensorflow as tf

    sample = source.sample()
    objective.check(sample)
    row, rng = sample[np.arange(1)], batching.rng(0, BATCH, 0)
    elements = [objective(row, width, rng) for width in batching.widths[[0, -1]]]
    if batching.accumulation_steps > 1:
        elements = [weighted([element])[0] for element in elements]
    batch_size = batching.batch_size if batching.drop_remainder else None  # None by token count too

    def spec(short, long):
        axes = [n if n == m else None for n, m in zip(short.shape[1:], long.shape[1:], strict=True)]
        return tf.TensorSpec([batch_size, *axes], short.dtype)

    return tf.nest.map_structure(spec, *elements)


class BatchSequence(keras.utils.PyDataset):
    """The same batches for backends other than TensorFlow; made by `batches`."""

    def __init__(self, source, objective, batching: Batching, num_batches: int):
        super().__init__()
        self._settings = source, objective, batching
        self._num_batches = num_batches
        self._window = -1, None
        self.position = Position()
        self.on_epoch_begin()

    def __len__(self) -> int:
        return self._num_batches - self._skip

    def __getitem__(self, index: int) -> tuple:
        batch = index + self._skip
        if batch + 1 == self._num_batches:
            self.position.epoch, self.position.batch = self._epoch + 1, 0
        return self._window_of(self._epoch)[batch]

    def __iter__(self) -> Iterator[tuple]:
        self.on_epoch_begin()
        return super().__iter__()

    def on_epoch_begin(self):
        """Called by Keras. A pass that is broken off, as Keras' own look at the first batch, starts again."""
        self._epoch, self._skip = self.position.epoch, self.position.batch

    def identity(self) -> dict[str, Any]:
        return identity(*self._settings)

    def _window_of(self, epoch: int) -> Window:
        source, objective, batching = self._settings
        epoch = epoch if batching.shuffle else 0
        if self._window[0] != epoch:
            ((first, rows),) = source.windows(batching, epoch, 0)
            self._window = epoch, Window(rows, objective, batching, epoch, first)
        return self._window[1]
