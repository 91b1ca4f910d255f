"""Precision, recall and F1 by class, and what is taken for what: counts of answers, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def confusion(true: Any, found: Any, num_classes: int) -> np.ndarray:
    """Count how often each class is taken for each.

    Args:
        true, found: (N,) integers below `num_classes`.
        num_classes: C.

    Returns:
        (C, C) int64: row i, column j has the number of those of class i that are answered as j.

    Example:

    >>> confusion([0, 0, 1], [0, 1, 1], 2).tolist()
    [[1, 1], [0, 1]]
    """
    counts = np.zeros((num_classes, num_classes), np.int64)
    np.add.at(counts, (np.asarray(true, np.int64), np.asarray(found, np.int64)), 1)
    return counts


def class_scores(names: Sequence[str], correct: Any, found: Any, true: Any) -> dict[str, dict[str, float]]:
    """Return precision, recall and F1 of each class, as scikit-learn's `classification_report` has them; 0 for 0 / 0.

    Args:
        names: Of the C classes.
        correct, found, true: (C,) how often each is answered rightly, is answered, and is right.

    Returns:
        By name a dict of `precision`, `recall`, `f1`, `support` (how often it is right) and `predicted`.

    Example:

    >>> class_scores(["no", "yes"], [1, 0], [2, 0], [1, 1])["no"]
    {'precision': 0.5, 'recall': 1.0, 'f1': 0.666..., 'support': 1, 'predicted': 2}
    """
    return {
        name: {**_scores(int(right), int(answered), int(support)), "support": int(support), "predicted": int(answered)}
        for name, right, answered, support in zip(names, correct, found, true, strict=True)
    }


def total_scores(correct: Any, found: Any, true: Any) -> dict[str, float]:
    """Return `precision`, `recall` and `f1` of all classes together, the micro average. Arguments as `class_scores`."""
    return _scores(*(int(np.sum(counts)) for counts in (correct, found, true)))


def macro_f1(classes: Mapping[str, Mapping[str, float]]) -> float:
    """Return the mean F1 of the classes that are right or answered at least once, scikit-learn's macro average.

    Example:

    >>> macro_f1(class_scores(["no", "yes", "rare"], [1, 0, 0], [2, 0, 0], [1, 1, 0]))
    0.333...
    """
    values = [scores["f1"] for scores in classes.values() if scores["support"] or scores["predicted"]]
    return float(np.mean(values)) if values else 0.0


def _scores(correct: int, found: int, true: int) -> dict[str, float]:
    return {
        "precision": correct / found if found else 0.0,
        "recall": correct / true if true else 0.0,
        "f1": 2 * correct / (found + true) if found + true else 0.0,
    }
