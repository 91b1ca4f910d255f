"""Metrics over real targets, as sums and counts: exact over batches, partial batches and replicas.

Keras' own logged `loss` is a mean of batch means, whatever their numbers of targets. Report `MeanCrossEntropy` or
`Perplexity` instead. All metrics take logits.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.training.losses.target_losses import (
    binary_cross_entropy,
    cross_entropy,
    difference,
    expand,
    like,
)
from keras_transformers.training.workers.distribute import all_reduce_sum
from keras_transformers.utils.tensor_types import Tensor

EPSILON = 2.0**-23  # of float32


class TargetMean(keras.metrics.Mean):
    """Base of the metrics: the mean of `per_target` over real targets; NaN if there was none.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.
    """

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        """Return the values and, in the same shape, booleans: True where there is a target."""
        raise NotImplementedError

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        values, real = self.per_target(y_true, ops.cast(y_pred, "float32"))
        weights = _weights(real, sample_weight)
        # Flat, as Keras averages (B, T) over T: a target in a longer batch would count less.
        super().update_state(ops.ravel(ops.where(real, values, 0.0)), sample_weight=ops.ravel(weights))  # (B * T,)

    def result(self) -> Tensor:
        # Keras returns 0 without targets, which would be a perfect loss.
        return ops.where(self.count.value > 0, super().result(), float("nan"))


@keras.saving.register_keras_serializable("keras_transformers")
class MeanCrossEntropy(TargetMean):
    """Cross entropy in nats per real target: the loss as it should be reported.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (...) integer labels; negative: no target.
        y_pred: (..., C) logits.

    Example:

    >>> metric = MeanCrossEntropy()
    >>> metric.update_state(np.array([1, -1]), np.zeros((2, 4)))
    >>> round(float(metric.result()), 4)
    1.3863
    """

    _direction = "down"  # read by ModelCheckpoint and EarlyStopping, mode="auto"

    def __init__(self, name: str = "cross_entropy", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        return cross_entropy(y_true, y_pred)


@keras.saving.register_keras_serializable("keras_transformers")
class Perplexity(MeanCrossEntropy):
    """The exponential of the cross entropy per real target.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Example:

    >>> metric = Perplexity()
    >>> metric.update_state(np.array([1, -1]), np.zeros((2, 4)))
    >>> round(float(metric.result()), 4)
    4.0
    """

    def __init__(self, name: str = "perplexity", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def result(self) -> Tensor:
        return ops.exp(super().result())


@keras.saving.register_keras_serializable("keras_transformers")
class Accuracy(TargetMean):
    """The fraction of real targets whose label has the largest logit.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (...) integer labels; negative: no target.
        y_pred: (..., C) logits.

    Example:

    >>> metric = Accuracy()
    >>> metric.update_state(np.array([1, 1, -1]), np.array([[0., 1.], [1., 0.], [1., 0.]]))
    >>> float(metric.result())
    0.5
    """

    _direction = "up"

    def __init__(self, name: str = "accuracy", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        labels = ops.reshape(ops.cast(y_true, "int32"), ops.shape(y_pred)[:-1])
        return ops.cast(ops.equal(labels, ops.cast(ops.argmax(y_pred, axis=-1), "int32")), "float32"), labels >= 0


@keras.saving.register_keras_serializable("keras_transformers")
class BinaryAccuracy(TargetMean):
    """The fraction of binary targets (0, 1; negative: no target) that are predicted correctly, with a threshold of 0.

    Targets that are probabilities count as 1 above 0.5.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Example:

    >>> metric = BinaryAccuracy()
    >>> metric.update_state(np.array([[1, 0, -1]]), np.array([[2., 2., 2.]]))
    >>> float(metric.result())
    0.5
    """

    _direction = "up"

    def __init__(self, name: str = "binary_accuracy", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        _, real = binary_cross_entropy(y_true, y_pred)
        return ops.cast(ops.equal(like(y_true, y_pred) > 0.5, y_pred > 0), "float32"), real


@keras.saving.register_keras_serializable("keras_transformers")
class F1(keras.metrics.F1Score):
    """F1 of multi-label classification: `keras.metrics.F1Score` on logits, over real targets.

    Args:
        average: `"micro"` over all decisions, `"macro"` over classes, or None for one value per class.
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (B, C) of 0 and 1; negative or NaN: no target.
        y_pred: (B, C) logits.

    Example:

    >>> metric = F1()
    >>> metric.update_state(np.array([[1, 0, -1]]), np.array([[2., 2., 2.]]))
    >>> round(float(metric.result()), 4)
    0.6667
    """

    def __init__(self, average: str | None = "micro", name: str = "f1", dtype: Any = None):
        super().__init__(average=average, threshold=0.5, name=name, dtype=dtype)

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        # "No target" becomes a true negative, which does not change F1.
        labels, logits = like(y_true, y_pred), ops.cast(y_pred, "float32")  # (B, C)
        real = labels >= 0  # (B, C)
        scores = ops.where(real, ops.sigmoid(logits), 0.0)  # (B, C)
        super().update_state(ops.where(real, labels, 0.0), scores, sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {"average": self.average, "name": self.name, "dtype": self.dtype}


@keras.saving.register_keras_serializable("keras_transformers")
class MeanAbsoluteError(TargetMean):
    """Absolute error of a regression; a label of NaN is no target.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Example:

    >>> metric = MeanAbsoluteError()
    >>> metric.update_state(np.array([1.0, np.nan]), np.array([[3.0], [9.0]]))
    >>> float(metric.result())
    2.0
    """

    _direction = "down"

    def __init__(self, name: str = "mean_absolute_error", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        error, real = difference(y_true, y_pred)
        return ops.abs(error), real


@keras.saving.register_keras_serializable("keras_transformers")
class Pearson(keras.metrics.Metric):
    """Pearson correlation of labels and predictions over the whole set (Keras' is within each row).

    It is 0 if all labels or all predictions are equal, and NaN without targets. Its state holds means and squared
    deviations: sums of squares lose precision for labels far from zero. Chan, Golub and LeVeque 1979, "Updating
    Formulae and a Pairwise Algorithm for Computing Sample Variances".

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (B,) or (B, 1); NaN: no target.
        y_pred: (B, 1).

    Example:

    >>> metric = Pearson()
    >>> metric.update_state(np.array([1.0, 2.0, 3.0, np.nan]), np.array([[2.0], [4.0], [6.0], [0.0]]))
    >>> round(float(metric.result()), 4)
    1.0
    """

    _direction = "up"

    def __init__(self, name: str = "pearson", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        # Count; means of x and y; sums of products of their deviations: x*x, y*y, x*y. The same on all replicas.
        self.moments = self.add_variable((6,), "zeros", aggregation="only_first_replica", name="moments")

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        x = ops.cast(y_pred, "float32")
        y = like(y_true, x)  # (B, 1)
        real = ops.logical_not(ops.isnan(y))
        weights = _weights(real, sample_weight)  # (B, 1)
        pairs = ops.stack([ops.where(real, x, 0.0), ops.where(real, y, 0.0)])  # (2, B, 1)
        sums = all_reduce_sum(ops.append(ops.sum(weights * pairs, axis=(1, 2)), ops.sum(weights)))  # (3,)
        means = ops.divide_no_nan(sums[:2], sums[2])  # (2,)
        x, y = ops.unstack(pairs - ops.reshape(means, (2, 1, 1)), 2)  # (B, 1) each
        self._merge(sums[2], means, all_reduce_sum(_products(weights * x, weights * y, x, y)))

    def _merge(self, count: Tensor, means: Tensor, products: Tensor) -> None:
        """Merge the moments of a batch into the moments of the batches before."""
        old = self.moments.value  # (6,)
        shift = means - old[1:3]  # (2,)
        fraction = ops.divide_no_nan(count, old[0] + count)
        x, y = ops.unstack(shift, 2)
        between = _products(x, y, x, y) * old[0] * fraction  # (3,)
        new_means = old[1:3] + shift * fraction
        self.moments.assign(ops.concatenate([old[:1] + count, new_means, old[3:] + products + between]))

    def result(self) -> Tensor:
        count, means, products = self.moments[0], self.moments[1:3], self.moments[3:]
        rounding = count * ops.square(4 * EPSILON * means)  # deviations up to this are rounding errors of a constant
        spread = ops.sqrt(ops.where(products[:2] > rounding, products[:2], 0.0))
        correlation = ops.divide_no_nan(products[2], spread[0] * spread[1])
        return ops.where(count > 0, correlation, float("nan"))


def _products(x: Tensor, y: Tensor, other_x: Tensor, other_y: Tensor) -> Tensor:
    return ops.stack([ops.sum(x * other_x), ops.sum(y * other_y), ops.sum(x * other_y)])


def _weights(real: Tensor, sample_weight: Tensor | None) -> Tensor:
    """Return the weight of each target: 0 where there is none."""
    weights = ops.cast(real, "float32")
    return weights if sample_weight is None else weights * expand(sample_weight, len(real.shape))
