"""Metrics of sentence embeddings, beside scipy, scikit-learn and brute force."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.training.metrics.embedding_metrics import (
    CosinePearson,
    MeanCosine,
    RankingAccuracy,
    TripletAccuracy,
    retrieval_scores,
    spearman,
)

RNG = np.random.default_rng(1)


@pytest.mark.parity
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_spearman_is_that_of_scipy(levels):
    from scipy.stats import spearmanr

    one, other = RNG.integers(0, levels, (2, 200)).astype(float)
    assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic, abs=1e-12)


def test_spearman_of_little():
    assert np.isnan(spearman([], [])) and spearman([1.0], [2.0]) == 0.0
    assert np.isnan(spearman([np.nan, np.nan, 0.5], [1, 2, 3])) and np.isnan(spearman([1, 2], [np.nan, 1]))
    assert spearman([1, 1, 1], [1, 2, 3]) == 0.0 and spearman([3, 2, 1], [1, 2, 3]) == pytest.approx(-1)


@pytest.mark.parity
def test_gain_is_that_of_scikit_learn():
    from sklearn.metrics import ndcg_score

    scores = RNG.normal(size=(20, 30))
    relevant = [set(RNG.choice(30, RNG.integers(1, 6), replace=False).tolist()) for _ in range(20)]
    truth = np.array([[document in row for document in range(30)] for row in relevant])
    ours = retrieval_scores(np.argsort(-scores, axis=1), relevant, at=[3, 10, 30])
    for number in (3, 10, 30):
        assert ours[f"ndcg@{number}"] == pytest.approx(ndcg_score(truth, scores, k=number), abs=1e-9)


def test_recall_and_rank_by_hand():
    ranking = np.array([[4, 2, 0], [1, 3, 5], [0, 1, 2]])
    scores = retrieval_scores(ranking, [{2, 0}, [5], {9}], at=[1, 3])
    assert scores["recall@1"] == 0.0 and scores["recall@3"] == pytest.approx((1 + 1 + 0) / 3)
    assert scores["mrr@3"] == pytest.approx((1 / 2 + 1 / 3) / 3)
    few = np.array([[1, -1, -1]])  # found a single document
    assert retrieval_scores(few, [[1, 1]], at=[2]) == {"recall@2": 1.0, "mrr@2": 1.0, "ndcg@2": 1.0}


@pytest.mark.parametrize(
    ("ranking", "relevant", "at", "message"),
    [
        (np.zeros((0, 3)), [], [1], "0 rankings for 0 queries"), (np.zeros((2, 3)), [{1}], [1], "2 rankings for 1"),
        (np.zeros((1, 3)), [set()], [1], "query 0 has no relevant document"),
        (np.array([[2, 1, 0]]), [{1}], [4], r"at=\[4\] for rankings of 3"),
        (np.array([[0, 1, 2], [1, 0, 1]]), [{1}, {1}], [2], "the ranking of query 1 has a document twice"),
        (np.array([1, 2]), [{1}, {2}], [1], r"expected rankings \(Q, K\).*received an array of shape \(2,\)"),
    ],
)  # fmt: skip
def test_what_is_refused(ranking, relevant, at, message):
    with pytest.raises(ValueError, match=message):
        retrieval_scores(ranking, relevant, at)


def test_metrics_add_up_over_batches():
    groups = RNG.normal(size=(9, 3, 4)).astype("float32")
    scores = RNG.uniform(-1, 1, 9).astype("float32")
    unit = groups / np.linalg.norm(groups, axis=-1, keepdims=True)
    expected = {
        CosinePearson: np.corrcoef((unit[:, 0] * unit[:, 1]).sum(-1), scores)[0, 1],
        TripletAccuracy: np.mean(
            np.linalg.norm(groups[:, 0] - groups[:, 1], axis=-1) < np.linalg.norm(groups[:, 0] - groups[:, 2], axis=-1)
        ),
    }
    for kind, value in expected.items():
        metric = kind()
        for part in (slice(0, 5), slice(5, 9)):
            labels = scores if kind is CosinePearson else np.arange(9)
            metric.update_state(labels[part], groups[part, :2] if kind is CosinePearson else groups[part])
        assert float(metric.result()) == pytest.approx(value, abs=1e-5)


def test_accuracy_of_the_nearest_and_a_teachers_cosine():
    groups = np.array([[[1, 0], [1, 0.1]], [[0, 1], [1, 0.2]], [[1, 1], [1, 1]]], "float32")
    metric = RankingAccuracy()
    metric.update_state(np.arange(3), groups)
    assert float(metric.result()) == pytest.approx(2 / 3)
    cosines = MeanCosine()
    cosines.update_state(np.array([[[0, 2], [np.nan, 0]]], "float32"), np.array([[[0, 1], [5, 5]]], "float32"))
    assert float(cosines.result()) == 1.0
