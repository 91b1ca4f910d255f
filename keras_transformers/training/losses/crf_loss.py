"""The loss of a conditional random field: the negative log-likelihood of a text's labels."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.layers.crf.path_scores import log_partition, path_score, unpacked
from keras_transformers.training.losses.target_losses import TargetLoss
from keras_transformers.utils.tensor_types import Tensor


def path_cross_entropy(labels: Tensor, path_scores: Tensor, has_parts: bool = False) -> tuple[Tensor, Tensor]:
    """Compute the negative log-likelihood of each text's labels, in nats, in equal parts for all its targets.

    Args:
        labels: Integer (B, T); negative: the position is not part of the chain.
        path_scores: (B, T + C + 1, C + 1), the output of a `CRF`.
        has_parts: As for `CRFLoss`.

    Returns:
        float32 (B, T), whose sum over the targets of a text is its negative log-likelihood, NaN for a text with a label
        beyond the last one; and booleans (B, T), True where there is a target.

    Example:

    >>> values, real = path_cross_entropy(np.array([[1, 0, -1]]), np.zeros((1, 6, 3)) + [0.0, 0.0, 1.0])
    >>> round(float(ops.sum(values)), 4)  # log(4): four paths of two labels, one as likely as the other
    1.3863
    """
    labels, is_target = chain_labels(labels, path_scores, has_parts)  # (B, T) each
    paths, last = unpacked(path_scores, labels >= 0), path_scores.shape[-1] - 2
    values = log_partition(paths) - path_score(paths, ops.minimum(labels, last))  # (B,)
    is_known = ops.all(ops.logical_or(labels <= last, ops.logical_not(paths.real)), axis=1)  # (B,)
    values = ops.where(is_known, values, float("nan"))
    real = paths.real & is_target  # (B, T)
    count = ops.sum(ops.cast(real, "float32"), axis=1)  # (B,)
    each = ops.expand_dims(values / ops.maximum(count, 1.0), 1)  # (B, 1)
    return ops.where(real, each, 0.0), real


def chain_labels(labels: Tensor, path_scores: Tensor, has_parts: bool) -> tuple[Tensor, Tensor]:
    """Return the label of each position, negative outside of the chain, and whether it is a target.

    Args:
        labels, path_scores, has_parts: As for `path_cross_entropy`.

    Raises:
        ValueError: The labels are not one for each position.
    """
    labels, length = ops.cast(labels, "int32"), path_scores.shape[1]
    if len(labels.shape) == 3 and labels.shape[-1] == 1:
        labels = ops.squeeze(labels, axis=-1)
    expected = length if length is None or path_scores.shape[-1] is None else length - path_scores.shape[-1]
    if len(labels.shape) != 2 or (None not in (expected, labels.shape[1]) and labels.shape[1] != expected):
        raise ValueError(
            f"Received labels of shape {tuple(labels.shape)} for scores of paths of shape {tuple(path_scores.shape)}; "
            f"expected one integer for each of {expected or 'the'} positions of each text."
        )
    is_target = labels >= 0  # (B, T)
    return (ops.where(labels < -1, -2 - labels, labels) if has_parts else labels), is_target


@keras.saving.register_keras_serializable("keras_transformers")
class CRFLoss(TargetLoss):
    """Negative log-likelihood of labels under a conditional random field, per target.

    Paper: Lafferty et al. 2001, "Conditional Random Fields", https://repository.upenn.edu/cis_papers/159.

    Args:
        has_parts: Whether a target below -1 is the label -2 - y of a further part of a word: part of the chain, but not
            counted by the divisor.
        name: Name of the loss.

    Call arguments:
        y_true: (B, T) integer labels; negative: the position is not part of the chain, as is one that the layer's mask
            hides.
        y_pred: (B, T + C + 1, C + 1), the output of a `CRF`.
        sample_weight: (B,), or (B, T), whose mean over the targets of a text is the weight of the text.

    Raises:
        ValueError: The labels are not one for each position.

    Example:

    >>> from keras_transformers.layers import CRF
    >>> scores = CRF()(np.zeros((1, 3, 4)))
    >>> round(float(CRFLoss()(np.array([[1, -1, 2]]), scores)), 4)  # log(4)
    1.3863
    """

    def __init__(self, has_parts: bool = False, name: str | None = "crf_loss"):
        super().__init__(name=name)
        self.has_parts = has_parts

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        return path_cross_entropy(y_true, y_pred, self.has_parts)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "has_parts": self.has_parts}
