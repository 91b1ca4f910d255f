"""Precision, recall and F1 by class, and the confusion matrix: counts of predictions, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MOST_IN_MATRIX = 200  # classes of a report's matrix; of more, it lists the pairs that are confused


def confusion(true: Any, found: Any, num_classes: int) -> np.ndarray:
    """Return the confusion matrix: how often each class is predicted for each true class.

    Args:
        true, found: (N,) labels and predictions, integers below `num_classes`.
        num_classes: C, their number.

    Returns:
        (C, C) int64: row i, column j has the number of targets of class i that are predicted as j.

    Example:

    >>> confusion([0, 0, 1], [0, 1, 1], 2).tolist()
    [[1, 1], [0, 1]]
    """
    counts = np.zeros((num_classes, num_classes), np.int64)
    np.add.at(counts, (np.asarray(true, np.int64), np.asarray(found, np.int64)), 1)
    return counts


def confusions(names: Sequence[str], true: Any, found: Any) -> dict[str, Any]:
    """Return the confusions of classes for a report: a matrix of few classes, the pairs that occur of many.

    Args:
        names: Names of the C classes.
        true, found: (N,) labels and predictions, integers below C.

    Returns:
        For up to 200 classes `labels`, their names, and `counts`, a row for each true class with the number of
        predictions of each class. For more `pairs`: dicts of a true `label`, a `predicted` one, which is another, and
        `count`, those with the largest counts first.

    Example:

    >>> confusions(["no", "yes"], [0, 0, 1], [0, 1, 1])
    {'labels': ['no', 'yes'], 'counts': [[1, 1], [0, 1]]}
    """
    if len(names) <= MOST_IN_MATRIX:
        return {"labels": [*names], "counts": confusion(true, found, len(names)).tolist()}
    both = np.stack([np.asarray(true, np.int64), np.asarray(found, np.int64)])  # (2, N)
    pairs, counts = np.unique(both[:, both[0] != both[1]], axis=1, return_counts=True)  # (2, P), (P,)
    return {
        "pairs": [
            {"label": names[pairs[0, place]], "predicted": names[pairs[1, place]], "count": int(counts[place])}
            for place in np.argsort(-counts, kind="stable")
        ]
    }


def label_scores(names: Sequence[str], true: Any, found: Any) -> dict[str, dict[str, float]]:
    """Return the scores of each class, as `class_scores` does, of (N,) labels and predictions below C.

    Example:

    >>> label_scores(["no", "yes"], [0, 1], [0, 0])["no"]
    {'precision': 0.5, 'recall': 1.0, 'f1': 0.666..., 'support': 1, 'predicted': 2}
    """
    true, found = np.asarray(true, np.int64), np.asarray(found, np.int64)
    return class_scores(
        names, *(np.bincount(numbers, minlength=len(names)) for numbers in (true[true == found], found, true))
    )


def class_scores(names: Sequence[str], correct: Any, found: Any, true: Any) -> dict[str, dict[str, float]]:
    """Return precision, recall and F1 of each class, as scikit-learn's `classification_report` has them; 0 for 0 / 0.

    Args:
        names: Names of the C classes.
        correct, found, true: (C,) numbers of correct predictions, of predictions, and of targets of each class.

    Returns:
        By name a dict of `precision`, `recall`, `f1`, `support` (its targets) and `predicted`.

    Example:

    >>> class_scores(["no", "yes"], [1, 0], [2, 0], [1, 1])["no"]
    {'precision': 0.5, 'recall': 1.0, 'f1': 0.666..., 'support': 1, 'predicted': 2}
    """
    return {
        name: {
            **_precision_recall_f1(int(hits), int(predicted), int(support)),
            "support": int(support),
            "predicted": int(predicted),
        }
        for name, hits, predicted, support in zip(names, correct, found, true, strict=True)
    }


def total_scores(correct: Any, found: Any, true: Any) -> dict[str, float]:
    """Return `precision`, `recall` and `f1` of all classes together, the micro average. Arguments as `class_scores`."""
    return _precision_recall_f1(*(int(np.sum(counts)) for counts in (correct, found, true)))


def macro_f1(classes: Mapping[str, Mapping[str, float]]) -> float:
    """Return scikit-learn's macro average: the mean F1 of the classes that have a target or a prediction.

    Example:

    >>> macro_f1(class_scores(["no", "yes", "rare"], [1, 0, 0], [2, 0, 0], [1, 1, 0]))
    0.333...
    """
    values = [scores["f1"] for scores in classes.values() if scores["support"] or scores["predicted"]]
    return float(np.mean(values)) if values else 0.0


def _precision_recall_f1(correct: int, found: int, true: int) -> dict[str, float]:
    return {
        "precision": correct / found if found else 0.0,
        "recall": correct / true if true else 0.0,
        "f1": 2 * correct / (found + true) if found + true else 0.0,
    }
