"""Precision, recall and F1 of entities, equal to seqeval's, computed in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.attention.masks import true_first
from keras_transformers.layers.core.gather import take_at
from keras_transformers.tasks.tokens.label_schemes import TokenLabels
from keras_transformers.utils.tensor_types import Tensor


def entity_bounds(classes: Tensor, labels: TokenLabels) -> tuple[Tensor, Tensor]:
    """Return where entities start and end; from left to right, starts and ends alternate.

    Args:
        classes: (B, W) int32, the classes of the words of each row; C for padding, which is on the right.
        labels: The labels of the C classes.

    Returns:
        Two (B, W) bool: True at the first word, and True at the last word of each entity.

    Example:

    >>> labels = TokenLabels(("O", "B-x", "I-x"))
    >>> starts, ends = entity_bounds(np.array([[0, 1, 2, 2, 0, 3]]), labels)
    >>> ops.convert_to_numpy(starts)[0].nonzero()[0].tolist(), ops.convert_to_numpy(ends)[0].nonzero()[0].tolist()
    ([1], [3])
    """
    outside = len(labels.names)
    classes = ops.cast(classes, "int32")
    padded = ops.pad(classes, [[0, 0], [1, 1]], constant_values=outside)  # (B, W + 2)
    starts, ends = (ops.convert_to_tensor(table.ravel()) for table in labels.bounds)
    before, after = padded[:, :-2], padded[:, 2:]  # (B, W) each
    return ops.take(starts, before * (outside + 1) + classes), ops.take(ends, classes * (outside + 1) + after)


def entity_counts(y_true: Tensor, y_pred: Tensor, labels: TokenLabels) -> Tensor:
    """Count the correct entities, the found entities and the true entities.

    Args:
        y_true: (B, T) integers; negative: not the first token of a word.
        y_pred: (B, T, C) logits.
        labels: The labels of the C classes.

    Returns:
        (3,) int32. An entity is correct if its words and its type are.
    """
    targets = ops.reshape(ops.cast(y_true, "int32"), ops.shape(y_pred)[:-1])  # (B, T)
    order = true_first(targets >= 0)
    classes = ops.stack([targets, ops.cast(ops.argmax(y_pred, axis=-1), "int32")])  # (2, B, T)
    classes = ops.where(targets >= 0, classes, len(labels.names))
    true, found = (take_at(row, order) for row in ops.unstack(classes, 2))  # (B, T) each

    (true_starts, true_ends), (starts, ends) = entity_bounds(true, labels), entity_bounds(found, labels)
    kinds = ops.convert_to_tensor(labels.kinds)
    same_start = true_starts & starts & (ops.take(kinds, true) == ops.take(kinds, found))  # (B, T)

    # An entity is correct if the next end after its start, in either row, is an end in both.
    any_end, both_end = true_ends | ends, true_ends & ends  # (B, T)
    number = ops.cumsum(ops.cast(any_end, "int32"), axis=1) - ops.cast(any_end, "int32")  # (B, T), of the next end
    next_end = take_at(true_first(any_end), number)  # (B, T), its column
    correct = same_start & take_at(both_end, next_end)
    return ops.stack([ops.sum(ops.cast(flags, "int32")) for flags in (correct, starts, true_starts)])


class EntityScore(keras.metrics.Metric):
    """The base of metrics that count entities over a whole data set, as seqeval does by default.

    Tjong Kim Sang and Buchholz 2000, https://aclanthology.org/W00-0726, define them; all types count together (micro
    average). A label that cannot begin an entity by the scheme, such as `I-x` after `O`, begins one.

    Args:
        labels: Names of the classes, of the BIO or BIOES scheme.
        name: Name of the metric.
        dtype: Dtype of its counts.

    Call arguments:
        y_true: (B, T) integer labels; negative: not the first token of a word.
        y_pred: (B, T, C) logits.

    Raises:
        ValueError: The labels are of no scheme; or, where there are entities to count, weights are given.
    """

    _direction = "up"  # read by ModelCheckpoint and EarlyStopping, mode="auto"

    def __init__(self, labels: Sequence[str], name: str, dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        self.labels = TokenLabels(tuple(labels))
        if self.labels.scheme is None:
            raise ValueError(f"entities have labels such as O, B-person and I-person: received {list(labels)}.")
        self.counts = self.add_variable((3,), "zeros", name="counts")  # correct, found, true

    def update_state(self, y_true, y_pred, sample_weight=None):
        if sample_weight is not None:
            raise ValueError(f"{self.name} counts entities, which have no weights: pass it in `metrics`.")
        self.counts.assign_add(ops.cast(entity_counts(y_true, y_pred, self.labels), self.counts.dtype))

    def get_config(self) -> dict[str, Any]:
        return {"labels": list(self.labels.names), "name": self.name, "dtype": self.dtype}


@keras.saving.register_keras_serializable("keras_transformers")
class EntityPrecision(EntityScore):
    """The fraction of the entities found that are correct; 0 if none is found. Arguments as of `EntityScore`.

    Example:

    >>> metric = EntityPrecision(["O", "B-x", "I-x"])
    >>> metric.update_state(np.array([[0, 1, -1]]), np.eye(3)[[[1, 1, 0]]])
    >>> float(metric.result())
    0.5
    """

    def __init__(self, labels: Sequence[str], name: str = "precision", dtype: Any = None):
        super().__init__(labels, name, dtype)

    def result(self):
        return ops.divide_no_nan(self.counts[0], self.counts[1])


@keras.saving.register_keras_serializable("keras_transformers")
class EntityRecall(EntityScore):
    """The fraction of the true entities that are found; 0 if there is none. Arguments as of `EntityScore`.

    Example:

    >>> metric = EntityRecall(["O", "B-x", "I-x"])
    >>> metric.update_state(np.array([[0, 1, -1]]), np.eye(3)[[[1, 1, 0]]])
    >>> float(metric.result())
    1.0
    """

    def __init__(self, labels: Sequence[str], name: str = "recall", dtype: Any = None):
        super().__init__(labels, name, dtype)

    def result(self):
        return ops.divide_no_nan(self.counts[0], self.counts[2])


@keras.saving.register_keras_serializable("keras_transformers")
class EntityF1(EntityScore):
    """The harmonic mean of precision and recall of entities; 0 if no entity is correct. Arguments as of `EntityScore`.

    Example:

    >>> metric = EntityF1(["O", "B-x", "I-x"])
    >>> metric.update_state(np.array([[0, 1, -1]]), np.eye(3)[[[1, 1, 0]]])
    >>> round(float(metric.result()), 4)
    0.6667
    """

    def __init__(self, labels: Sequence[str], name: str = "f1", dtype: Any = None):
        super().__init__(labels, name, dtype)

    def result(self):
        return ops.divide_no_nan(2.0 * self.counts[0], self.counts[1] + self.counts[2])
