"""Losses divided by the number of real targets over all replicas.

`keras.losses` divide by the size of the batch, padding included, so a loss shrinks as padding grows. Each replica of a
`tf.distribute` strategy divides by the size of its part. Here 1, 2 and 4 replicas take the same step. For this
the losses use `reduction="sum"`, the only reduction that Keras does not rescale by the number of replicas. The `loss`
and `val_loss` that Keras logs are the same as on one device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.core.custom_gradient import custom_gradient
from keras_transformers.layers.core.gather import take_at
from keras_transformers.training.workers.distribute import all_reduce_sum, num_replicas
from keras_transformers.utils.tensor_types import Tensor


def cross_entropy(labels: Tensor, logits: Tensor, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """Compute the cross entropy per target, in nats, before any reduction.

    Args:
        labels: (...) or (..., 1) integers; negative: no target.
        logits: (..., C).
        label_smoothing: The part of the target's probability that is spread evenly over all C classes, as in torch.
            (fairseq since 2020 spreads it over the C - 1 others: its `eps` is `eps * C / (C - 1)` here.)

    Returns:
        (...) float losses, and (...) booleans, True where there is a target. Losses elsewhere are meaningless.

    Example:

    >>> values, real = cross_entropy(np.array([1, -1]), np.zeros((2, 4), "float32"))
    >>> float(values[0]), np.array(real).tolist()  # log(4)
    (1.3862943649291992, [True, False])
    """
    labels, logits = _drop_last_axis(labels, logits), ops.convert_to_tensor(logits)
    labels = ops.cast(labels, "int32")  # (...)
    real = labels >= 0
    flat = ops.reshape(ops.where(real, labels, 0), (-1,)), ops.reshape(logits, (-1, logits.shape[-1]))  # (N,), (N, C)
    return ops.reshape(_flat_cross_entropy(*flat, label_smoothing), ops.shape(labels)), real


def _flat_cross_entropy(labels: Tensor, logits: Tensor, smoothing: float) -> Tensor:
    """Compute the cross entropy of (N,) labels and (N, C) logits.

    The gradient is written by hand: one pass over the logits, and no one-hot labels. Loss and gradient of (4096, 9708)
    logits take half the time of Keras' ops on either backend.
    """

    def function(logits: Tensor) -> tuple[Tensor, Callable]:
        log_total = ops.logsumexp(logits, axis=-1)  # (N,)
        target_logits = take_at(logits, labels[:, None])[:, 0]  # (N,)
        values = log_total - (1.0 - smoothing) * target_logits
        if smoothing:
            values -= smoothing * ops.mean(logits, axis=-1)
        smoothed = smoothing / logits.shape[-1]

        def gradient(upstream: Tensor) -> tuple[Tensor]:
            others = (ops.exp(logits - log_total[:, None]) - smoothed) * upstream[:, None]  # (N, C)
            targets = (ops.exp(target_logits - log_total) - smoothed - (1.0 - smoothing)) * upstream  # (N,)
            indices = ops.stack([ops.arange(ops.shape(labels)[0], dtype="int32"), labels], axis=1)  # (N, 2)
            return (ops.scatter_update(others, indices, targets),)

        return values, gradient

    return custom_gradient(function)(logits)


def binary_cross_entropy(labels: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the cross entropy per binary target, in nats; see `cross_entropy`.

    Labels (B, C) are 0, 1, or no target: negative or NaN.

    Example:

    >>> values, real = binary_cross_entropy(np.array([[1.0, -1.0]]), np.zeros((1, 2), "float32"))
    >>> round(float(values[0, 0]), 4), np.array(real).tolist()  # log(2)
    (0.6931, [[True, False]])
    """
    labels = like(labels, logits)
    real = labels >= 0
    targets = ops.where(real, labels, 0.0)
    return ops.softplus(logits) - targets * logits, real


def difference(labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
    """Return the prediction minus the label per target; a label of NaN is no target. See `cross_entropy`.

    Example:

    >>> values, real = difference(np.array([1.0, np.nan], "float32"), np.array([[3.0], [3.0]], "float32"))
    >>> float(values[0, 0]), np.array(real).tolist()
    (2.0, [[True], [False]])
    """
    labels = like(labels, predictions)
    real = ops.logical_not(ops.isnan(labels))
    return predictions - ops.where(real, labels, 0.0), real


class TargetLoss(keras.losses.Loss):
    """Base of the losses: the sum of `per_target` over real targets, divided by their number over all replicas.

    `sample_weight` and the `class_weight` of `fit` multiply the losses; as in Keras, the divisor stays the number of
    targets. Half-precision logits are cast to float32. Without any target the loss is 0.

    Args:
        name: Name of the loss.
    """

    def __init__(self, name: str | None = None):
        super().__init__(name=name, reduction="sum", dtype="float32")

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses and, in the same shape, booleans: True where there is a target."""
        raise NotImplementedError

    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        if sample_weight is not None:
            sample_weight = expand(sample_weight, ops.ndim(y_true))
        loss = super().__call__(y_true, y_pred, sample_weight)  # (), the part of this replica
        if (replicas := num_replicas()) == 1:
            return loss
        # Keras logs the mean over the replicas of `replicas` times their loss, each weighted by its rows. With the same
        # value on all of them, that is the loss of the whole batch however its rows are shared out.
        return loss + ops.stop_gradient(all_reduce_sum(loss) / replicas - loss)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        values, real = self.per_target(y_true, y_pred)
        count = all_reduce_sum(ops.sum(ops.cast(real, "float32")))
        return ops.where(real, values, 0.0) / ops.maximum(count, 1.0)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name}


@keras.saving.register_keras_serializable("keras_transformers")
class CrossEntropy(TargetLoss):
    """Cross entropy of integer labels and logits, per real target.

    For classification, token classification, masked and causal language models.
    Label smoothing: Szegedy et al. 2015, https://arxiv.org/abs/1512.00567.

    Args:
        label_smoothing: The part, in [0, 1), of the target's probability that is spread evenly over all classes.
        name: Name of the loss.

    Call arguments:
        y_true: (...) integer labels; negative: no target.
        y_pred: (..., C) logits.
        sample_weight: (B,) or as `y_true`.

    Raises:
        ValueError: If `label_smoothing` is outside [0, 1), or labels and logits do not fit.

    Example:

    >>> loss = CrossEntropy()
    >>> round(float(loss(np.array([[1, -1, -1]]), np.zeros((1, 3, 4)))), 4)  # log(4): two of three are padding
    1.3863
    """

    def __init__(self, label_smoothing: float = 0.0, name: str | None = "cross_entropy"):
        super().__init__(name=name)
        if not 0.0 <= label_smoothing < 1.0:
            raise ValueError(f"Received label_smoothing={label_smoothing}; expected a number in [0, 1), such as 0.1.")
        self.label_smoothing = label_smoothing

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        return cross_entropy(y_true, y_pred, self.label_smoothing)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "label_smoothing": self.label_smoothing}


@keras.saving.register_keras_serializable("keras_transformers")
class BinaryCrossEntropy(TargetLoss):
    """Cross entropy of independent binary labels and logits, for multi-label classification.

    Args:
        name: Name of the loss.

    Call arguments:
        y_true: (B, C) of 0 and 1; negative: no target.
        y_pred: (B, C) logits.
        sample_weight: (B,) or (B, C).

    Example:

    >>> round(float(BinaryCrossEntropy()(np.array([[1, -1]]), np.zeros((1, 2)))), 4)  # log(2)
    0.6931
    """

    def __init__(self, name: str | None = "binary_cross_entropy"):
        super().__init__(name=name)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        return binary_cross_entropy(y_true, y_pred)


@keras.saving.register_keras_serializable("keras_transformers")
class MeanSquaredError(TargetLoss):
    """Squared error per real target, for regression.

    Args:
        name: Name of the loss.

    Call arguments:
        y_true: (B,) or as `y_pred`; NaN: no target.
        y_pred: (B, 1) or (B, C).
        sample_weight: (B,) or as `y_true`.

    Example:

    >>> float(MeanSquaredError()(np.array([1.0, np.nan]), np.array([[3.0], [9.0]])))
    4.0
    """

    def __init__(self, name: str | None = "mean_squared_error"):
        super().__init__(name=name)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        error, real = difference(y_true, y_pred)
        return ops.square(error), real


def expand(weights: Tensor, rank: int) -> Tensor:
    """Append axes of size 1 until `weights` has this rank: (B,) becomes (B, 1) for a rank of 2."""
    weights = ops.cast(weights, "float32")
    return ops.reshape(weights, (*ops.shape(weights), *[1] * (rank - ops.ndim(weights))))


def like(labels: Tensor, logits: Tensor) -> Tensor:
    """Append axes to labels up to the rank of the logits; raise a `ValueError` if the shapes do not fit."""
    labels = expand(labels, len(logits.shape))
    if not _shapes_fit(labels.shape, logits.shape):
        raise _shape_error(labels, logits, "the shape of the logits")
    return labels


def _drop_last_axis(labels: Tensor, logits: Tensor) -> Tensor:
    labels = ops.convert_to_tensor(labels)
    if len(labels.shape) == len(logits.shape) and labels.shape[-1] == 1:
        labels = ops.squeeze(labels, axis=-1)
    if not _shapes_fit(labels.shape, logits.shape[:-1]):
        raise _shape_error(labels, logits, "one integer for each row of logits")
    return labels


def _shapes_fit(shape: tuple, expected: tuple) -> bool:
    return len(shape) == len(expected) and all(a == b or None in (a, b) for a, b in zip(shape, expected, strict=True))


def _shape_error(labels: Tensor, logits: Tensor, expected: str) -> ValueError:
    shapes = f"labels of shape {tuple(labels.shape)} for logits of shape {tuple(logits.shape)}"
    return ValueError(f"Received {shapes}; expected {expected}.")
