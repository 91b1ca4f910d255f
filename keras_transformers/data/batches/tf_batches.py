"""Batches as a `tf.data.Dataset` that knows its position, number of batches and identity."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from keras_transformers.data.batches.batching import Position
from keras_transformers.data.batches.own_rows import Share
from keras_transformers.utils.keras_private import input_datasets


class Batches(tf.data.Dataset):
    """A `tf.data.Dataset` of batches that knows where its next pass starts; made by `pipeline.batches`.

    `fit`, `evaluate`, `predict` and strategies of `tf.distribute` take it like any other data set, and it has the same
    methods. `map`, `prefetch` and `with_options` keep the number and, unless `deterministic=False`, the order of the
    batches. They return `Batches` again, with the same position (not a copy) and identity. (The function of `map` is
    not part of the identity.) All other transformations, such as `take`, `skip`, `batch`, `unbatch`, `filter`,
    `repeat`, `shuffle`, `cache` and `zip`, may change number or order. They return a plain `tf.data.Dataset`, which
    `Resume` refuses.

    Args:
        dataset: `tf.data.Dataset` of the batches. A pass over it starts at `position`, and moves the position.
        position: `Position`.
        num_batches: int, batches in a whole epoch; `None` if unknown, as for a stream.
        identity: a function that returns the identity.
        own: a function from shares of the batches to the data set of just these, made without the other rows; `None`
            where rows cannot be made apart, and after `map`, `prefetch` and `with_options`. All move one position.
        num_rows: int, rows of the source; `None` if unknown. The last batch may hold further ones: `pad_remainder`.

    Attributes:
        num_batches: Number of batches. `len(dataset)` and `dataset.cardinality()` are the same number.

    Example:

    >>> from keras_transformers.data.objectives.class_targets import Classification
    >>> from keras_transformers.data.batches.pipeline import batches
    >>> from keras_transformers.data.sources.rows import Rows
    >>> rows = Rows.of([[2, 9, 3], [2, 8, 8, 3]], labels=[1, 0])
    >>> dataset = batches(rows, Classification(num_classes=2), 1, max_length=4).map(lambda x, y: (x, 1 - y))
    >>> dataset.num_batches, dataset.position
    (2, Position(epoch=0, batch=0))
    >>> isinstance(dataset.take(1), Batches)
    False
    """

    def __init__(
        self,
        dataset: tf.data.Dataset,
        position: Position,
        num_batches: int | None,
        identity: Callable[[], dict[str, Any]],
        own: Callable[[Sequence[Share]], tf.data.Dataset] | None = None,
        num_rows: int | None = None,
    ):
        self._dataset, self._position, self._identity, self.own = dataset, position, identity, own
        self.num_batches, self.num_rows = num_batches, num_rows
        super().__init__(tf.data.experimental.to_variant(dataset))

    @property
    def position(self) -> Position:
        """Return the position at which the next pass starts. Assign to its fields."""
        return self._position

    def identity(self) -> dict[str, Any]:
        """Return the identity of the data set: see `data.identity`."""
        return self._identity()

    @property
    def element_spec(self) -> Any:
        """Shapes and dtypes of an element."""
        return self._dataset.element_spec

    def _inputs(self) -> list[tf.data.Dataset]:
        return [self._dataset]

    def cardinality(self) -> tf.Tensor:
        """Return the number of batches in a whole epoch, as a () int64 tensor; negative if unknown."""
        # Not `assert_cardinality`, which would raise an error for a resumed pass, as that is shorter.
        return super().cardinality() if self.num_batches is None else tf.constant(self.num_batches, tf.int64)

    def map(self, *args: Any, **options: Any) -> Batches:
        """Map the elements as `tf.data.Dataset.map` does; keep position, number of batches and identity."""
        mapped = super().map(*args, **options)
        return mapped if options.get("deterministic") is False else self._with(mapped)

    def prefetch(self, *args: Any, **options: Any) -> Batches:
        """Prefetch as `tf.data.Dataset.prefetch` does; keep position, number of batches and identity."""
        return self._with(super().prefetch(*args, **options))

    def with_options(self, *args: Any, **options: Any) -> Batches:
        """Set options as `tf.data.Dataset.with_options` does; keep position, number of batches and identity."""
        changed = super().with_options(*args, **options)
        return changed if changed.options().deterministic is False else self._with(changed)

    def _with(self, dataset: tf.data.Dataset) -> Batches:
        return Batches(dataset, self._position, self.num_batches, self._identity, num_rows=self.num_rows)


def lost_by(dataset: Any) -> str | None:
    """Return the method that made a plain data set of `Batches`; `None` if the data set does not come from `Batches`.

    Example:

    >>> numbers = Batches(tf.data.Dataset.range(5), Position(), 5, dict)
    >>> lost_by(numbers.padded_batch(2).map(tf.negative)), lost_by(tf.data.Dataset.range(5).take(1))
    ('padded_batch', None)
    """
    return _lost_by(dataset, None) if isinstance(dataset, tf.data.Dataset) else None


def _lost_by(dataset: tf.data.Dataset, following: str | None) -> str | None:
    """Implement `lost_by`; `following` is the method that was then called on the data set."""
    words = re.findall("[A-Z][a-z]+", type(dataset).__name__)  # the class is, for instance, `_ParallelBatchDataset`
    method: str | None = "_".join(word.lower() for word in words if word not in ("Dataset", "Parallel"))
    method = "with_options" if method == "options" else method
    if method is None or not hasattr(tf.data.Dataset, method):  # an internal step of `following`
        method = following
    inputs = input_datasets(dataset)
    if any(isinstance(part, Batches) for part in inputs):
        return method
    return next(filter(None, (_lost_by(part, method) for part in inputs)), None)
