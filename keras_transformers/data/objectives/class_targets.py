"""The objective of text classification and regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_transformers.data.sources.rows import Rows

PROBLEMS = ("single_label", "multi_label", "regression")


@dataclass(frozen=True)
class Classification:
    """The objective that converts rows with labels to the model's inputs and (B,) or (B, C) labels.

    Args:
        num_classes: int, number of outputs C.
        problem: `"single_label"` (labels 0 .. C - 1), `"multi_label"` (C numbers in 0 .. 1 per row)
            or `"regression"` (a float per row, C floats if C > 1).
        pad_id: int, the id of padding.

    Raises:
        ValueError: An unknown problem; and from `check`: a label out of range, not finite or of the wrong shape.

    Example:

    >>> rows = Rows.of([[2, 7, 3], [2, 3]], labels=[1, 0])
    >>> x, y = Classification(num_classes=2)(rows, width=4)
    >>> x["padding_mask"].tolist(), y.tolist()
    ([[1, 1, 1, 0], [1, 1, 0, 0]], [1, 0])
    """

    is_row_wise = True

    num_classes: int
    problem: str = "single_label"
    pad_id: int = 0

    def __post_init__(self):
        if self.problem not in PROBLEMS:
            raise ValueError(f"Received problem={self.problem!r}: expected one of {', '.join(PROBLEMS)}.")

    def check(self, rows: Rows):
        if rows.labels is None:
            return
        if self.problem == "single_label":
            self._check_classes(rows.labels)
        else:
            self._check_numbers(rows.labels)

    def _check_classes(self, labels: np.ndarray):
        if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
            raise ValueError(
                f"Received labels of shape {labels.shape} and type {labels.dtype}: expected one whole number per row."
            )
        _refuse(labels, (labels < 0) | (labels >= self.num_classes), f"a class from 0 to {self.num_classes - 1}")

    def _check_numbers(self, labels: np.ndarray):
        shape = (len(labels), self.num_classes)
        shapes = (shape,) if self.problem == "multi_label" else (shape, (len(labels),))[: 1 + (self.num_classes == 1)]
        if labels.shape not in shapes or labels.dtype.kind not in "biuf":
            raise ValueError(
                f"Received {self.problem} labels of shape {labels.shape} and type {labels.dtype}: "
                f"expected {self.num_classes} number(s) a row."
            )
        _refuse(labels, ~np.isfinite(labels), "a finite number")
        if self.problem == "multi_label":
            _refuse(labels, (labels < 0) | (labels > 1), "a number from 0 to 1")

    def __call__(self, rows: Rows, width: int, rng: Any = None) -> tuple:
        inputs = rows.padded(width, self.pad_id)
        if rows.labels is None:
            return (inputs,)
        return inputs, rows.labels.astype(np.int32 if self.problem == "single_label" else np.float32)


def _refuse(labels: np.ndarray, bad: np.ndarray, allowed: str):
    if bad.any():
        row = np.argwhere(bad)[0][0]
        raise ValueError(f"Received label {labels[row].tolist()} in row {row}: expected {allowed}.")
