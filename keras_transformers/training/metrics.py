"""Metrics over real targets, as sums and counts: exact over batches, partial batches and replicas.

Keras' own logged `loss` is a mean of batch means; report `MeanCrossEntropy` or `Perplexity` instead. All take logits.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.training.losses import binary_cross_entropy, cross_entropy, difference, expand, like


class TargetMean(keras.metrics.Mean):
    """Base of the metrics: the mean of `per_target` over real targets.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.
    """

    def per_target(self, y_true, y_pred):
        """Returns the values and, in the same shape, where there is a target."""
        raise NotImplementedError

    def update_state(self, y_true, y_pred, sample_weight=None):
        values, real = self.per_target(y_true, ops.cast(y_pred, "float32"))
        super().update_state(ops.where(real, values, 0.0), sample_weight=_weights(real, sample_weight))


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

    _direction = "down"  # tells ModelCheckpoint and EarlyStopping, mode="auto", what is better

    def __init__(self, name: str = "cross_entropy", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def per_target(self, y_true, y_pred):
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

    def result(self):
        return ops.exp(super().result())


@keras.saving.register_keras_serializable("keras_transformers")
class Accuracy(TargetMean):
    """The share of real targets whose label has the largest logit.

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

    def per_target(self, y_true, y_pred):
        labels = ops.reshape(ops.cast(y_true, "int32"), ops.shape(y_pred)[:-1])
        return ops.cast(ops.equal(labels, ops.cast(ops.argmax(y_pred, axis=-1), "int32")), "float32"), labels >= 0


@keras.saving.register_keras_serializable("keras_transformers")
class BinaryAccuracy(TargetMean):
    """The share of yes-or-no targets (0, 1; negative: no target) on the right side of logit 0.

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

    def per_target(self, y_true, y_pred):
        _, real = binary_cross_entropy(y_true, y_pred)
        return ops.cast(ops.equal(like(y_true, y_pred) > 0, y_pred > 0), "float32"), real


@keras.saving.register_keras_serializable("keras_transformers")
class F1(keras.metrics.F1Score):
    """F1 of multi-label classification: `keras.metrics.F1Score` on logits, without the labels that are no target.

    Args:
        average: `"micro"` over all decisions, `"macro"` over classes, or None for one value a class.
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (B, C) of 0 and 1; negative: no target.
        y_pred: (B, C) logits.

    Example:

    >>> metric = F1()
    >>> metric.update_state(np.array([[1, 0, -1]]), np.array([[2., 2., 2.]]))
    >>> round(float(metric.result()), 4)
    0.6667
    """

    def __init__(self, average: str | None = "micro", name: str = "f1", dtype: Any = None):
        super().__init__(average=average, threshold=0.5, name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        # A true negative changes no F1: that is what "no target" becomes.
        labels, logits = like(y_true, y_pred), ops.cast(y_pred, "float32")
        scores = ops.where(labels >= 0, ops.sigmoid(logits), 0.0)
        super().update_state(ops.maximum(labels, 0.0), scores, sample_weight)

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

    def per_target(self, y_true, y_pred):
        error, real = difference(y_true, y_pred)
        return ops.abs(error), real


@keras.saving.register_keras_serializable("keras_transformers")
class Pearson(keras.metrics.Metric):
    """Correlation of labels and predictions over the whole set (Keras' own correlates within each row).

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
        self.sums = self.add_variable((6,), "zeros", name="sums")  # of 1, x, y, x*x, y*y, x*y

    def update_state(self, y_true, y_pred, sample_weight=None):
        error, real = difference(y_true, ops.cast(y_pred, "float32"))
        weights = _weights(real, sample_weight)
        x = ops.where(real, ops.cast(y_pred, "float32"), 0.0)
        y = x - ops.where(real, error, 0.0)
        self.sums.assign_add(ops.stack([ops.sum(weights * v) for v in (ops.ones_like(x), x, y, x * x, y * y, x * y)]))

    def result(self):
        n, x, y, xx, yy, xy = ops.unstack(self.sums.value, 6)
        spread = ops.maximum(n * xx - x * x, 0.0) * ops.maximum(n * yy - y * y, 0.0)
        return ops.divide_no_nan(n * xy - x * y, ops.sqrt(spread))


def _weights(real, sample_weight):
    """What each target counts: nothing where there is none."""
    weights = ops.cast(real, "float32")
    return weights if sample_weight is None else weights * expand(sample_weight, len(real.shape))
