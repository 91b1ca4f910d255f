"""The loss of extractive question answering: cross entropy over the positions of a text."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.training.losses.target_losses import TargetLoss


def span_cross_entropy(positions: Any, logits: Any) -> tuple[Any, Any]:
    """Return the cross entropy of the first and of the last token of an answer, in nats, before any reduction.

    Args:
        positions: (B, 2) integers, the first and the last token; negative: no target.
        logits: (B, T, 2).

    Returns:
        (B, 2) float losses, and (B, 2) booleans, True where there is a target. Losses elsewhere are meaningless.

    Example:

    >>> values, real = span_cross_entropy(np.array([[1, -1]]), np.zeros((1, 4, 2), "float32"))
    >>> float(values[0, 0]), np.array(real).tolist()  # log(4)
    (1.3862943649291992, [[True, False]])
    """
    positions = ops.cast(positions, "int32")  # (B, 2)
    real = positions >= 0
    logits = ops.transpose(ops.convert_to_tensor(logits), (0, 2, 1))  # (B, 2, T)

    targets = ops.expand_dims(ops.where(real, positions, 0), -1)  # (B, 2, 1)
    target_logits = ops.squeeze(ops.take_along_axis(logits, targets, axis=-1), axis=-1)  # (B, 2)
    return ops.logsumexp(logits, axis=-1) - target_logits, real


@keras.saving.register_keras_serializable("keras_transformers")
class SpanCrossEntropy(TargetLoss):
    """Cross entropy of the first and the last token of an answer, the mean of both, per row.

    Args:
        name: Name of the loss.

    Call arguments:
        y_true: (B, 2) integers, the first and the last token; negative: no target.
        y_pred: (B, T, 2) logits.
        sample_weight: (B,) or (B, 2).

    Example:

    >>> loss = SpanCrossEntropy()
    >>> round(float(loss(np.array([[1, 2], [-1, -1]]), np.zeros((2, 4, 2)))), 4)  # log(4): the second row has no target
    1.3863
    """

    def __init__(self, name: str | None = "span_cross_entropy"):
        super().__init__(name=name)

    def per_target(self, y_true, y_pred):
        return span_cross_entropy(y_true, y_pred)
