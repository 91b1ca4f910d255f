"""The data set for `model.fit` from a source and an objective; see `protocols` for both."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_transformers.data.batches.batch_sequence import BatchSequence
from keras_transformers.data.batches.batching import BATCH, BUCKETS, FINE_BUCKETS, Batching, Position
from keras_transformers.data.batches.identity import identity
from keras_transformers.data.batches.own_rows import Share
from keras_transformers.data.batches.protocols import Objective, Source
from keras_transformers.data.batches.window import Window, is_shared, weighted

if TYPE_CHECKING:
    from keras_transformers.data.batches.tf_batches import Batches

# Elements that tf.data prepares ahead: a fixed number, as autotune makes `fit` stall for seconds.
PREFETCH = 4


def batches(
    source: Source,
    objective: Objective,
    batch_size: int | None = None,
    *,
    batch_tokens: int | None = None,
    max_length: int,
    seed: int = 0,
    shuffle: bool = True,
    buckets: Sequence[int] | None = None,
    accumulation_steps: int = 1,
    drop_remainder: bool = False,
    pad_remainder: bool | None = None,
    by_length: bool = False,
    steps_per_epoch: int | None = None,
) -> Batches | BatchSequence:
    """Make the data set that `model.fit` takes.

    (seed, epoch, batch) determine everything in it, so that it can be reproduced and resumed. Each pass is the next
    epoch of `dataset.position`: `fit(epochs=n)` has n shuffles and n sets of masks.

    Args:
        source: `Rows`, `SentencePairs`, `Packed`, `Blocks`, `TokenBlocks`, `Stream`, `TokenStream`, `Translations` or
            `TranslationStream`; or a `Source` of your own.
        objective: `Classification`, `MaskedLM`, `Pretraining`, `NextToken`, `Translation` or `SpanCorruption`; or an
            `Objective` of your own.
        batch_size: int, rows in a batch (over all replicas).
        batch_tokens: int, instead of `batch_size`: the maximum of rows times padded length (of pairs, the longer
            side's), as fairseq's `--max-tokens`. A batch holds rows of similar length.
        max_length: int, maximum tokens of a row; a longer row is an error.
        seed: int, of all shuffles and masks.
        shuffle: bool. If False, rows stay in order and every pass is the same, masks included: for evaluation.
        buckets: lengths in tokens; a batch is padded to the next of them, or to max_length. `()` for max_length always;
            `None` for the default of the source.
        accumulation_steps: int, the optimizer's. Batches then have sample weights with which the accumulated step
            equals the step of one large batch.
        drop_remainder: bool, whether to leave out the rows that do not fill a batch.
        pad_remainder: bool, whether to fill a smaller last batch with rows that have no target, so that all batches
            have `batch_size` rows: XLA compiles each shape once. They change neither steps nor metrics; Keras' logged
            `loss` is a mean over batches. None for True where a `keras.distribution` divides batches among devices.
        by_length: bool, with `shuffle=False`: the longest rows first, so that batches hold rows of similar length, if
            rows are in memory and have lengths. For an evaluation that does not depend on the order of rows.
        steps_per_epoch: int, batches of an epoch, which is then a part of the endless sequence of passes over the rows:
            `fit` evaluates, saves and shows more often than once a pass, or less often. Not for streams. None for one
            pass an epoch.

    Returns:
        `Batches`, a `tf.data.Dataset`; on backends other than TensorFlow `BatchSequence`, a
        `keras.utils.PyDataset`. Both have `position`, `num_batches` (in an epoch; `None` for a stream) and `identity()`
        (see `data.identity`). The docstring of `Batches` says which transformations keep them.

    Raises:
        ValueError: A setting or label is out of range, a row is too long, or the rows do not fill a batch.

    Example:

    >>> from keras_transformers.data.objectives.class_targets import Classification
    >>> from keras_transformers.data.sources.rows import Rows
    >>> rows = Rows.of([[2, 9, 3], [2, 8, 8, 3]], labels=[1, 0])
    >>> dataset = batches(rows, Classification(num_classes=2), 2, max_length=32, shuffle=False)
    >>> x, y = next(iter(dataset))
    >>> tuple(x["token_ids"].shape), np.asarray(y).tolist()
    ((2, 16), [1, 0])
    """
    batching = Batching(
        batch_size,
        seed,
        shuffle,
        max_length,
        _padded_lengths(source, buckets, batch_tokens),
        accumulation_steps,
        drop_remainder,
        batch_tokens,
        steps_per_epoch,
        _is_divided(batch_tokens, drop_remainder) if pad_remainder is None else pad_remainder,
    )
    if by_length:
        source = _by_length(source, shuffle)
    num_batches = _num_batches(source, batching)

    if keras.backend.backend() == "tensorflow":
        return _tf_batches(source, objective, batching, num_batches)
    if num_batches is None:
        raise ValueError("A Stream needs the TensorFlow backend: set KERAS_BACKEND=tensorflow, or pass lists.")
    return BatchSequence(source, objective, batching, num_batches)


def longest_first(lengths: np.ndarray) -> np.ndarray:
    """Return the indices that sort rows by their lengths, (rows,) or (rows, sides), the longest first; stable.

    Example:

    >>> longest_first(np.array([2, 5, 2, 7])).tolist()
    [3, 1, 0, 2]
    """
    lengths = lengths.reshape(len(lengths), -1)
    return np.lexsort([*-lengths.T, -lengths.max(axis=1)])  # the last key is the primary one


def _padded_lengths(source: Any, buckets: Any, batch_tokens: int | None) -> tuple:
    """Return the lengths to which batches are padded: the given ones, the source's, or the usual ones."""
    if buckets is None:
        buckets = getattr(source, "buckets", None)
    if buckets is None:
        buckets = BUCKETS if batch_tokens is None else FINE_BUCKETS
    return tuple(buckets) if isinstance(buckets, Iterable) else (buckets,)


def _is_divided(batch_tokens: int | None, drop_remainder: bool) -> bool:
    """Return whether a last batch of any size must be filled, as devices take equal parts of each batch."""
    return not (batch_tokens or drop_remainder) and keras.distribution.distribution() is not None


def _by_length(source: Any, shuffle: bool) -> Source:
    if shuffle:
        raise ValueError("Received by_length=True and shuffle=True: leave one out; shuffled batches are by length too.")
    in_memory = hasattr(source, "lengths") and hasattr(source, "__getitem__")
    return source[longest_first(source.lengths)] if in_memory else source


def _num_batches(source: Any, batching: Batching) -> int | None:
    """Return the number of batches in an epoch; `None` for a stream."""
    if batching.batch_tokens and not hasattr(source, "lengths"):
        raise ValueError(
            f"Received batch_tokens={batching.batch_tokens} for {type(source).__name__}, whose lengths differ every "
            f"epoch or are all max_length: use batch_size, such as {batching.batch_tokens // batching.max_length}."
        )
    if source.num_rows is None and batching.steps_per_epoch:
        raise ValueError(
            f"Received steps_per_epoch={batching.steps_per_epoch} for a stream, whose number of batches is not known: "
            "expected None. Pass lists, or a file of tokens (data.corpus); or give it to model.fit, without Resume."
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


def epoch_batches(
    source: Source,
    objective: Objective,
    batching: Batching,
    num_batches: int | None,
    position: Position,
    shares: Sequence[Share] = (),
) -> Iterator[tuple]:
    """Yield the elements of one epoch from `position` on; earlier ones are not made.

    Args:
        source, objective, batching: As in `batches`.
        num_batches: Number of batches in a pass over the rows; None if unknown.
        position: Position to start at.
        shares: Parts into which each batch is split; they are yielded in its place. Empty for whole batches.
    """
    if batching.steps_per_epoch is None or num_batches is None:
        yield from _pass(source, objective, batching, position.epoch, position.batch, shares)
        return
    left = batching.steps_per_epoch - position.batch
    number, skip = batching.place(position.epoch, position.batch, num_batches)
    while left > 0:
        yield from islice(_pass(source, objective, batching, number, skip, shares), left * max(len(shares), 1))
        left -= num_batches - skip
        number, skip = number + 1, 0


def _pass(
    source: Source, objective: Objective, batching: Batching, number: int, skip: int, shares: Sequence[Share]
) -> Iterator[tuple]:
    """Yield the elements of a pass over the rows from number `skip` on."""
    epoch = number if batching.shuffle else 0
    for first, rows in source.windows(batching, epoch, skip):
        window = Window(rows, objective, batching, epoch, first)
        for index in range(max(0, skip - first), len(window)):
            yield from [window[index]] if not shares else (window.part(index, share) for share in shares)


def _tf_batches(source: Source, objective: Objective, batching: Batching, num_batches: int | None) -> Batches:
    import tensorflow as tf

    from keras_transformers.data.batches.tf_batches import Batches

    passes = _Passes(source, objective, batching, num_batches)
    # TensorFlow never frees the function; the rows must live only as long as the data set and those made from it.
    following: Callable[[], Any] = weakref.WeakMethod(passes.following)
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA

    def dataset_of(shares: Sequence[Share]) -> tf.data.Dataset:
        signature = _signature(source, objective, batching, shares[0].count if shares else 1)
        dataset = tf.data.Dataset.from_generator(lambda: following()(shares), output_signature=signature)
        return dataset.prefetch(PREFETCH * max(len(shares), 1)).with_options(options)

    # `fit` would warn that its own default, `shuffle=True`, does nothing with a data set: these batches are shuffled.
    warnings.filterwarnings("ignore", r"`shuffle=True` was passed.*tf\.data\.Dataset", UserWarning, r"keras\.src\.")
    own = dataset_of if is_shared(objective, batching) else None
    steps = batching.steps_per_epoch or num_batches
    return Batches(dataset_of(()), passes.position, steps, passes.identity, own, source.num_rows)


class _Passes:
    """The passes over a data set, one after the other."""

    def __init__(self, source: Source, objective: Objective, batching: Batching, num_batches: int | None):
        self.settings, self.num_batches, self.position = (source, objective, batching), num_batches, Position()

    def identity(self) -> dict[str, Any]:
        return identity(*self.settings)

    def following(self, shares: Sequence[Share]) -> Iterator[tuple]:
        """Yield the elements of the next pass, or shares of them."""
        start = replace(self.position)
        # At the start of the pass, not at its end: elements, the last one included, are prepared before they are used.
        # (Under a strategy, Keras looks at one batch before it trains; this look counts as an epoch.)
        self.position.epoch, self.position.batch = start.epoch + 1, 0
        yield from epoch_batches(*self.settings, self.num_batches, start, shares)


def _signature(source: Source, objective: Objective, batching: Batching, parts: int) -> Any:
    """Return shapes and dtypes of a part of an element; an axis is None if it is not the same in all buckets."""
    import tensorflow as tf

    sample = source.sample()
    objective.check(sample)
    row, rng = sample[np.arange(1)], batching.rng(0, BATCH, 0)
    elements = [objective(row, width, rng) for width in batching.widths[[0, -1]]]
    if batching.accumulation_steps > 1:
        elements = [weighted([element])[0] for element in elements]
    is_equal = batching.drop_remainder or batching.pad_remainder
    size = batching.batch_size if is_equal else None  # `batch_size` is None by token count
    rows = None if size is None or size % parts else size // parts

    def spec(short, long):
        axes = [n if n == m else None for n, m in zip(short.shape[1:], long.shape[1:], strict=True)]
        return tf.TensorSpec([rows, *axes], short.dtype)

    return tf.nest.map_structure(spec, *elements)
