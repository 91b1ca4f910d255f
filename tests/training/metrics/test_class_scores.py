"""Counts of answers against scikit-learn 1.7: `confusion_matrix`, `precision_recall_fscore_support`, `f1_score`."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.training.metrics.class_scores import (
    MOST_IN_MATRIX,
    class_scores,
    confusion,
    confusions,
    label_scores,
    macro_f1,
    total_scores,
)

TRUE, FOUND = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3], [0, 1, 0, 1, 1, 2, 0, 2, 1, 2]
NAMES = ("a", "b", "c", "d", "never")
COUNTS = [[2, 1, 0, 0, 0], [0, 2, 0, 0, 0], [1, 1, 2, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
EXPECTED = {
    "precision": [0.666667, 0.5, 0.666667, 0, 0],
    "recall": [0.666667, 1, 0.5, 0, 0],
    "f1": [0.666667, 0.666667, 0.571429, 0, 0],
    "support": [3, 2, 4, 1, 0],
}


@pytest.fixture
def counts():
    table = confusion(TRUE, FOUND, len(NAMES))
    return table.diagonal(), table.sum(axis=0), table.sum(axis=1)


def test_confusion():
    assert confusion(TRUE, FOUND, len(NAMES)).tolist() == COUNTS
    assert confusion([], [], 2).tolist() == [[0, 0], [0, 0]]


def test_confusions_of_many_classes_are_the_pairs_that_occur():
    names = [f"n{number}" for number in range(10_000)]
    found = confusions(names, [3, 3, 9_999, 5, 3, 0], [4, 4, 0, 5, 5, 7])
    assert found == {
        "pairs": [
            {"label": "n3", "predicted": "n4", "count": 2},
            {"label": "n0", "predicted": "n7", "count": 1},
            {"label": "n3", "predicted": "n5", "count": 1},
            {"label": "n9999", "predicted": "n0", "count": 1},
        ]
    }
    assert confusions(names, [], []) == confusions(names, [1], [1]) == {"pairs": []}
    assert "counts" in confusions(names[:MOST_IN_MATRIX], [], []) and "pairs" in confusions(names[:201], [], [])
    scores = label_scores(names, [3, 3, 9_999], [4, 3, 0])
    assert len(scores) == 10_000 and scores["n3"]["recall"] == 0.5 and scores["n4"]["predicted"] == 1


@pytest.mark.parametrize("score", EXPECTED)
def test_scores_of_each_class(counts, score):
    found = [scores[score] for scores in class_scores(NAMES, *counts).values()]
    np.testing.assert_allclose(found, EXPECTED[score], atol=1e-6)


def test_averages(counts):
    """A class that neither is right nor is answered does not count; one that is never answered does."""
    assert macro_f1(class_scores(NAMES, *counts)) == pytest.approx(0.47619047619047616)
    assert total_scores(*counts)["f1"] == pytest.approx(0.6)
    assert macro_f1({}) == 0.0


@pytest.mark.parity
def test_beside_scikit_learn():
    from sklearn.metrics import f1_score, precision_recall_fscore_support

    true, found = np.random.default_rng(0).integers(0, 7, (2, 500))
    table = confusion(true, found, 7)
    classes = class_scores(list("abcdefg"), table.diagonal(), table.sum(axis=0), table.sum(axis=1))
    expected = precision_recall_fscore_support(true, found)
    for name, values in zip(EXPECTED, expected, strict=True):
        np.testing.assert_allclose([scores[name] for scores in classes.values()], values)
    assert macro_f1(classes) == pytest.approx(f1_score(true, found, average="macro"))
