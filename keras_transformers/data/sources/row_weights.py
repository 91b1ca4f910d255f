"""Weights of rows in the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_transformers.data.batches.protocols import Objective
from keras_transformers.data.batches.window import multiplied
from keras_transformers.data.sources.rows import InMemory


@dataclass(frozen=True)
class WeightedRows(InMemory):
    """A source of rows in memory with a weight each; `WithRowWeights` is its objective.

    Args:
        rows: `Rows` or `TextGroups`.
        weights: (rows,) float.

    Raises:
        ValueError: There are not as many weights as rows.

    Example:

    >>> from keras_transformers.data.sources.rows import Rows
    >>> WeightedRows(Rows.of([[2, 3], [2, 7, 3]]), np.array([1.0, 0.5]))[np.array([1])].weights.tolist()
    [0.5]
    """

    rows: Any
    weights: np.ndarray

    def __post_init__(self):
        if len(self.weights) != self.num_rows:
            raise ValueError(f"Received {len(self.weights)} weights for {self.num_rows} texts: expected one per text.")

    @property
    def num_rows(self) -> int:
        return self.rows.num_rows

    @property
    def lengths(self) -> np.ndarray:
        return self.rows.lengths

    def __getitem__(self, indices: Any) -> WeightedRows:
        return WeightedRows(self.rows[indices], self.weights[indices])


class WithRowWeights:
    """An objective of `WeightedRows`: another objective, whose targets get the weights of their rows.

    Args:
        objective: The objective of the rows without weights.

    Example:

    >>> from keras_transformers.data.objectives.class_targets import Classification
    >>> from keras_transformers.data.sources.rows import Rows
    >>> rows = WeightedRows(Rows.of([[2, 7, 3], [2, 3]], labels=[1, 0]), np.array([1.0, 0.5]))
    >>> WithRowWeights(Classification(num_classes=2))(rows, width=4)[2].tolist()
    [1.0, 0.5]
    """

    def __init__(self, objective: Objective):
        self.objective = objective

    def check(self, rows: WeightedRows) -> None:
        """Raise the `ValueError`s of the objective."""
        self.objective.check(rows.rows)

    def __call__(self, rows: WeightedRows, width: Any, rng: Any = None) -> tuple:
        inputs, *labels = self.objective(rows.rows, width, rng)
        if not labels:
            return (inputs,)
        return multiplied((inputs, *labels), rows.weights.astype(np.float32))
