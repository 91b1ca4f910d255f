"""Metrics of a conditional random field: of its best paths, and its cross entropy."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.layers.crf.path_scores import best_path, unpacked
from keras_transformers.training.losses.crf_loss import chain_labels, path_cross_entropy
from keras_transformers.training.metrics.target_metrics import TargetMean
from keras_transformers.utils.tensor_types import Tensor


@keras.saving.register_keras_serializable("keras_transformers")
class PathCrossEntropy(TargetMean):
    """Negative log-likelihood of labels under a conditional random field, in nats per target.

    Args:
        has_parts: As for `CRFLoss`.
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true, y_pred: As for `CRFLoss`.

    Example:

    >>> from keras_transformers.layers import CRF
    >>> metric = PathCrossEntropy()
    >>> metric.update_state(np.array([[1, -1, 2]]), CRF()(np.zeros((1, 3, 4))))
    >>> round(float(metric.result()), 4)
    1.3863
    """

    _direction = "down"  # read by ModelCheckpoint and EarlyStopping, mode="auto"

    def __init__(self, has_parts: bool = False, name: str = "cross_entropy", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)
        self.has_parts = has_parts

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        return path_cross_entropy(y_true, y_pred, self.has_parts)

    def get_config(self) -> dict[str, Any]:
        return {"has_parts": self.has_parts, "name": self.name, "dtype": self.dtype}


@keras.saving.register_keras_serializable("keras_transformers")
class BestPath(keras.metrics.Metric):
    """A metric of labels and logits, of the best paths of a conditional random field.

    The metric gets 1 for the label of the best path and 0 for the others in place of logits.

    Args:
        metric: The metric, such as `Accuracy()` or `EntityF1(labels)`: one that leaves out negative labels.
        has_parts: As for `CRFLoss`.
        name: Name of the metric; the name of `metric` when None.
        dtype: Not used: `metric` has a dtype.

    Call arguments:
        y_true, y_pred, sample_weight: As for `CRFLoss`.

    Example:

    >>> from keras_transformers.layers import CRF
    >>> from keras_transformers.training.metrics.target_metrics import Accuracy
    >>> metric = BestPath(Accuracy())
    >>> metric.update_state(np.array([[1, 1]]), CRF()(np.array([[[0.0, 2.0], [1.0, 0.0]]])))
    >>> metric.name, float(metric.result())
    ('accuracy', 0.5)
    """

    def __init__(self, metric: Any, has_parts: bool = False, name: str | None = None, dtype: Any = None):
        metric = keras.saving.deserialize_keras_object(metric) if isinstance(metric, dict) else metric
        if not isinstance(metric, keras.metrics.Metric):
            raise ValueError(f"metric must be a metric of Keras, such as Accuracy(): received {metric!r}.")
        super().__init__(name=name or metric.name, dtype=dtype)
        self.metric, self.has_parts = metric, has_parts
        if hasattr(metric, "_direction"):  # read by ModelCheckpoint and EarlyStopping, mode="auto"
            self._direction = metric._direction

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        labels, is_target = chain_labels(y_true, y_pred, self.has_parts)  # (B, T) each
        found = best_path(unpacked(y_pred, labels >= 0))  # (B, T)
        known = ops.where(is_target & (found >= 0), labels, -1)  # (B, T)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.metric.update_state(known, ops.one_hot(found, y_pred.shape[-1] - 1), **options)  # (B, T), (B, T, C)

    def result(self) -> Any:
        return self.metric.result()

    def reset_state(self) -> None:
        self.metric.reset_state()

    def get_config(self) -> dict[str, Any]:
        metric = keras.saving.serialize_keras_object(self.metric)
        return {"metric": metric, "has_parts": self.has_parts, "name": self.name, "dtype": self.dtype}
