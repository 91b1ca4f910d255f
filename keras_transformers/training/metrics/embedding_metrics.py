"""Metrics of sentence embeddings, as sums and counts, and scores of whole collections."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.training.losses.embedding_losses import candidate_scores, cosine, vector_targets
from keras_transformers.training.metrics.target_metrics import Pearson, TargetMean
from keras_transformers.utils.tensor_types import Tensor


@keras.saving.register_keras_serializable("keras_transformers")
class RankingAccuracy(TargetMean):
    """The fraction of first texts to which the one that belongs to them is the nearest of the batch.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (B,) integers, as for `MultipleNegativesRanking`.
        y_pred: (B, G, D).

    Example:

    >>> metric = RankingAccuracy()
    >>> metric.update_state(np.array([0, 1]), np.array([[[1., 0.], [1., 1.]], [[0., 1.], [1., 0.]]]))
    >>> float(metric.result())
    0.0
    """

    _direction = "up"

    def __init__(self, name: str = "ranking_accuracy", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        nearest = ops.argmax(candidate_scores(y_true, y_pred), axis=1)  # (B,)
        rows = ops.arange(ops.shape(y_pred)[0], dtype=nearest.dtype)  # (B,)
        return ops.cast(nearest == rows, "float32"), ops.reshape(y_true, (-1,)) >= 0


@keras.saving.register_keras_serializable("keras_transformers")
class CosinePearson(Pearson):
    """Pearson correlation of scores and the cosines of pairs.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (B,) scores; NaN: no target.
        y_pred: (B, 2, D).

    Example:

    >>> metric = CosinePearson()
    >>> metric.update_state(np.array([1.0, 0.0]), np.array([[[1., 0.], [1., 0.]], [[1., 0.], [0., 1.]]]))
    >>> round(float(metric.result()), 4)
    1.0
    """

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        super().update_state(y_true, cosine(y_pred[:, 0], y_pred[:, 1])[:, None], sample_weight)


@keras.saving.register_keras_serializable("keras_transformers")
class TripletAccuracy(TargetMean):
    """The fraction of first texts that are nearer to the second text than to the third.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (B,) integers; negative: no target.
        y_pred: (B, 3, D).

    Example:

    >>> metric = TripletAccuracy()
    >>> metric.update_state(np.array([0]), np.array([[[1., 0.], [1., 1.], [0., 1.]]]))
    >>> float(metric.result())
    1.0
    """

    _direction = "up"

    def __init__(self, name: str = "triplet_accuracy", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        squares = ops.sum(ops.square(y_pred[:, :1] - y_pred[:, 1:]), axis=-1)  # (B, 2)
        return ops.cast(squares[:, 0] < squares[:, 1], "float32"), ops.reshape(y_true, (-1,)) >= 0


@keras.saving.register_keras_serializable("keras_transformers")
class MeanCosine(TargetMean):
    """The mean cosine of predicted vectors and a teacher's vectors.

    Args:
        name: Name of the metric.
        dtype: Dtype of its sums.

    Call arguments:
        y_true: (..., D) vectors; one that holds a NaN is no target.
        y_pred: As `y_true`.

    Example:

    >>> metric = MeanCosine()
    >>> metric.update_state(np.array([[0.6, 0.8], [np.nan, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    >>> round(float(metric.result()), 4)
    0.6
    """

    _direction = "up"

    def __init__(self, name: str = "mean_cosine", dtype: Any = None):
        super().__init__(name=name, dtype=dtype)

    def per_target(self, y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
        targets, real = vector_targets(y_true, y_pred)
        return cosine(targets, y_pred), real


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's rank correlation: Pearson's of the ranks, where equal values share their mean rank.

    Args:
        one, other: (N,) numbers.

    Returns:
        From -1 to 1; 0 if all values of a side are equal, NaN if there are none, or one is NaN.

    Example:

    >>> round(spearman([1, 2, 3, 4], [1, 8, 27, 64]), 6), spearman([1, 2], [5, 5])
    (1.0, 0.0)
    """
    columns = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if not columns[0].size or any(np.isnan(column).any() for column in columns):
        return float("nan")
    x, y = (ranks - ranks.mean() for ranks in map(_ranks, columns))
    spread = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / spread) if spread else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)  # the highest rank of each value
    return (last - (counts - 1) / 2)[inverse]


def retrieval_scores(
    ranking: np.ndarray, relevant: Sequence[Collection[int]], at: Sequence[int] = (1, 10)
) -> dict[str, float]:
    """Return recall, MRR and nDCG of ranked documents, means over queries, as in the BEIR benchmark.

    Args:
        ranking: (Q, K) integers: the numbers of the K best documents of each query, best first; -1 for none.
        relevant: Numbers of the documents that answer each query, one or more.
        at: Numbers of best documents that are looked at, each at most K.

    Returns:
        By name, such as `"recall@10"`: the part of the relevant documents among the first ten; `"mrr@10"`, the inverse
        of the rank of the first one; `"ndcg@10"`, the normalised discounted cumulative gain.

    Raises:
        ValueError: There are no queries, a query has no relevant documents, a ranking has a document twice, or `at`
            exceeds K.

    Example:

    >>> retrieval_scores(np.array([[3, 1], [0, 2]]), [{1}, {0}], at=[2])
    {'recall@2': 1.0, 'mrr@2': 0.75, 'ndcg@2': 0.815...}
    """
    ranking, relevant = np.asarray(ranking), [{*documents} for documents in relevant]
    if ranking.ndim != 2:
        raise ValueError(f"expected rankings (Q, K), a row for each query: received an array of shape {ranking.shape}.")
    if len(ranking) != len(relevant) or not len(ranking):
        raise ValueError(
            f"received {len(ranking)} rankings for {len(relevant)} queries: expected one each, one or more."
        )
    if unanswered := [number for number, documents in enumerate(relevant) if not documents]:
        raise ValueError(f"query {unanswered[0]} has no relevant document: leave it out, or give one.")
    in_order = np.sort(ranking, axis=1)
    if (twice := ((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)).any(axis=1)).any():
        raise ValueError(f"the ranking of query {twice.argmax()} has a document twice: expected each one once.")
    if max(at) > ranking.shape[1] or min(at) < 1:
        raise ValueError(f"at={list(at)} for rankings of {ranking.shape[1]} documents: expected 1 to that many.")
    hits = np.array(
        [[document in documents for document in row] for row, documents in zip(ranking, relevant, strict=True)]
    )  # (Q, K)
    counts = np.array([len(documents) for documents in relevant])  # (Q,)
    discounts = 1 / np.log2(np.arange(ranking.shape[1]) + 2)  # (K,)

    scores = {}
    for number in at:
        top = hits[:, :number]
        first = np.where(top.any(axis=1), top.argmax(axis=1), np.inf)
        best = np.cumsum(discounts[:number])[np.minimum(counts, number) - 1]
        scores[f"recall@{number}"] = float((top.sum(axis=1) / counts).mean())
        scores[f"mrr@{number}"] = float((1 / (first + 1)).mean())
        scores[f"ndcg@{number}"] = float((top @ discounts[:number] / best).mean())
    return scores
