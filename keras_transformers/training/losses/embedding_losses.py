"""Losses of sentence embeddings. A row is a group of texts that belong together: (B, G, D) for groups of G texts."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.layers.attention.masks import NEVER
from keras_transformers.training.losses.target_losses import TargetLoss
from keras_transformers.utils.tensor_types import Tensor


def cosine(one: Tensor, other: Tensor) -> Tensor:
    """Return the cosine of the angle between vectors (..., D): (...), 0 beside a vector of zeros.

    Example:

    >>> float(cosine(np.array([3.0, 0.0]), np.array([1.0, 1.0])))
    0.7071...
    """
    one, other = (ops.normalize(ops.cast(vectors, "float32"), axis=-1) for vectors in (one, other))
    return ops.sum(one * other, axis=-1)


def candidate_scores(labels: Tensor, embeddings: Tensor) -> Tensor:
    """Return the similarity of each first text to all other texts of a batch.

    Args:
        labels: (B,) integers. Groups of one label are not each other's negatives: their second texts do not count. Of
            a group with a negative label no text counts for the other groups.
        embeddings: (B, G, D), G of 2 or more: a text, the one that belongs to it, and any number that do not.

    Returns:
        float32 (B, (G - 1) * B) cosines, and NEVER for what does not count: to all second texts, then to all third
        ones, and so on. The text that belongs to row `i` is column `i`.
    """
    vectors = ops.normalize(ops.cast(embeddings, "float32"), axis=-1)  # (B, G, D)
    others = ops.reshape(ops.transpose(vectors[:, 1:], (1, 0, 2)), (-1, ops.shape(vectors)[-1]))  # ((G - 1) * B, D)
    scores = ops.matmul(vectors[:, 0], ops.transpose(others))  # (B, (G - 1) * B)

    labels, rows = ops.reshape(labels, (-1,)), ops.arange(ops.shape(vectors)[0])  # (B,) each
    is_other = rows[:, None] != rows[None]  # (B, B)
    is_alike = (labels[:, None] == labels[None]) & is_other  # (B, B)
    is_missing = ops.tile((labels < 0)[None] & is_other, (1, embeddings.shape[1] - 1))  # (B, (G - 1) * B)
    scores = ops.where(is_missing, NEVER, scores)
    size = ops.shape(rows)[0]
    return ops.concatenate([ops.where(is_alike, NEVER, scores[:, :size]), scores[:, size:]], axis=1)


def vector_targets(y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
    """Return a teacher's vectors, float32 in the shape of `y_pred` (..., D), and which ones are targets, (...) bool.

    A vector that holds a NaN is no target: it is all zeros.
    """
    y_true = ops.reshape(ops.cast(y_true, "float32"), ops.shape(y_pred))
    real = ops.logical_not(ops.any(ops.isnan(y_true), axis=-1))  # (...)
    return ops.where(ops.expand_dims(real, -1), y_true, 0.0), real


@keras.saving.register_keras_serializable("keras_transformers")
class MultipleNegativesRanking(TargetLoss):
    """Cross entropy of finding, for each first text, the one that belongs to it among all others of the batch.

    For pairs of texts that belong together, such as questions and answers. The larger the batch, the harder and the
    better. Under a `tf.distribute` strategy, each replica compares only the texts of its rows.
    Papers: Henderson et al. 2017, https://arxiv.org/abs/1705.00652; Reimers and Gurevych 2019,
    https://arxiv.org/abs/1908.10084.

    Args:
        scale: Factor of the cosines: the inverse of a temperature.
        name: Name of the loss.

    Call arguments:
        y_true: (B,) integers. Groups of one label are not each other's negatives; negative: no target.
        y_pred: (B, G, D): a text, the one that belongs to it, and G - 2 that do not ("hard negatives").

    Example:

    >>> pairs = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    >>> round(float(MultipleNegativesRanking(scale=1.0)(np.array([0, 1]), pairs)), 4)  # log(1 + exp(-1))
    0.3133
    """

    def __init__(self, scale: float = 20.0, name: str | None = "multiple_negatives_ranking"):
        super().__init__(name=name)
        self.scale = scale

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.scale * candidate_scores(y_true, y_pred)  # (B, (G - 1) * B)
        return ops.logsumexp(scores, axis=1) - ops.diagonal(scores), ops.reshape(y_true, (-1,)) >= 0

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "scale": self.scale}


@keras.saving.register_keras_serializable("keras_transformers")
class CosineError(TargetLoss):
    """Squared error of the cosine of two texts, for pairs with a score.

    Paper: Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084.

    Args:
        name: Name of the loss.

    Call arguments:
        y_true: (B,) scores from -1 to 1; NaN: no target.
        y_pred: (B, 2, D).

    Example:

    >>> float(CosineError()(np.array([0.5]), np.array([[[1.0, 0.0], [2.0, 0.0]]])))
    0.25
    """

    def __init__(self, name: str | None = "cosine_error"):
        super().__init__(name=name)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        y_true = ops.reshape(ops.cast(y_true, "float32"), (-1,))  # (B,)
        real = ops.logical_not(ops.isnan(y_true))
        return ops.square(cosine(y_pred[:, 0], y_pred[:, 1]) - ops.where(real, y_true, 0.0)), real


@keras.saving.register_keras_serializable("keras_transformers")
class Triplet(TargetLoss):
    """Triplet loss: the first text should be nearer to the second one than to the third, by a margin.

    `max(0, |a - p| - |a - n| + margin)` of the texts a, p (which belongs to it) and n (which does not).
    Paper: Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084.

    Args:
        margin: A distance; vectors of length one are at most 2 apart.
        name: Name of the loss.

    Call arguments:
        y_true: (B,) integers; negative: no target.
        y_pred: (B, 3, D).

    Example:

    >>> vectors = np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]])
    >>> round(float(Triplet(margin=1.5)(np.array([0]), vectors)), 4)
    0.5
    """

    def __init__(self, margin: float = 1.0, name: str | None = "triplet"):
        super().__init__(name=name)
        self.margin = margin

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        vectors = ops.cast(y_pred, "float32")
        squares = ops.sum(ops.square(vectors[:, :1] - vectors[:, 1:]), axis=-1)  # (B, 2)
        distances = ops.sqrt(ops.maximum(squares, 1e-12))  # the gradient of a root is infinite at 0
        gap = distances[:, 0] - distances[:, 1] + self.margin  # (B,)
        return ops.maximum(gap, 0.0), ops.reshape(y_true, (-1,)) >= 0

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "margin": self.margin}


@keras.saving.register_keras_serializable("keras_transformers")
class VectorDistance(TargetLoss):
    """Half the squared distance to a teacher's vector; for vectors of length one, 1 minus their cosine.

    For distillation. Paper: Reimers and Gurevych 2020, https://arxiv.org/abs/2004.09813.

    Args:
        name: Name of the loss.

    Call arguments:
        y_true: (..., D) vectors; one that holds a NaN is no target.
        y_pred: As `y_true`.

    Example:

    >>> loss = VectorDistance()(np.array([[0.6, 0.8], [np.nan, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    >>> round(float(loss), 4)
    0.4
    """

    def __init__(self, name: str | None = "vector_distance"):
        super().__init__(name=name)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        targets, real = vector_targets(y_true, y_pred)
        return 0.5 * ops.sum(ops.square(ops.cast(y_pred, "float32") - targets), axis=-1), real
