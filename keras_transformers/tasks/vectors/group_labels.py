"""Labels of groups of texts, by the loss that learns from them, and a correlation over all pairs with a score."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
from keras import ops

from keras_transformers.tasks.inputs.grouped_texts import Columns
from keras_transformers.tasks.inputs.labels import label_numbers, label_rows
from keras_transformers.training.losses.embedding_losses import cosine
from keras_transformers.training.metrics import embedding_metrics


def label_reader(loss: str, dim: int) -> Callable[[Any, Columns], np.ndarray | None]:
    """Return a function from labels as given by the user, or None, and columns of texts to labels of the loss."""
    if loss == "cosine":
        return lambda labels, columns: None if labels is None else _scores(labels)
    if loss == "regression":
        return lambda labels, columns: None if labels is None else _vectors(labels, dim)
    return _numbers


def _scores(labels: Any) -> np.ndarray:
    expected = "labels of the loss 'cosine' are numbers from -1 to 1, one per pair"
    scores = label_numbers(labels := label_rows(labels), expected)
    if scores.ndim != 1 or not (np.abs(scores) <= 1).all():
        row = int((~(np.abs(scores) <= 1)).argmax()) if scores.ndim == 1 else 0
        label = labels[row].tolist() if isinstance(labels[row], (np.ndarray, np.generic)) else labels[row]
        raise ValueError(
            f"{expected}: received {label!r} in row {row}. Scale them: a score from 0 to 5 is divided by 5."
        )
    return scores


def _vectors(labels: Any, dim: int) -> np.ndarray:
    expected = f"labels of the loss 'regression' are finite vectors of {dim} numbers, one per text"
    vectors = label_numbers(labels, expected)
    if vectors.ndim != 2 or vectors.shape[1] != dim or not np.isfinite(vectors).all():
        raise ValueError(f"{expected}: received an array of shape {vectors.shape}.")
    return vectors


def _numbers(labels: Any, columns: Columns) -> np.ndarray | None:
    if labels is None and len(columns) > 1:
        labels = columns[1]
    if labels is None:
        return None
    numbers: dict[Any, int] = {}  # not by an array: one of strings holds each at the length of the longest
    for row, label in enumerate(labels := label_rows(labels)):
        if not isinstance(label, (str, Number, np.bool_)) or label != label:
            raise ValueError(f"labels are names or numbers, one per row: received {label!r} in row {row}.")
        numbers.setdefault(label, len(numbers))
    return np.array([numbers[label] for label in labels], np.int32)


class Spearman:
    """The `Scorer` of pairs with a score: Spearman's correlation with the cosines of their vectors."""

    def __init__(self):
        self.found: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, inputs: Any, labels: Any, outputs: Any) -> None:
        """Take the cosines of the first two texts of each row."""
        vectors = outputs["embedding"]  # (B, G, D)
        self.found.append((ops.convert_to_numpy(cosine(vectors[:, 0], vectors[:, 1])), np.asarray(labels)))

    def result(self) -> dict[str, float]:
        """Return `spearman`."""
        cosines, labels = (np.concatenate(column) for column in zip(*self.found, strict=True))
        return {"spearman": embedding_metrics.spearman(cosines.tolist(), labels.tolist())}
