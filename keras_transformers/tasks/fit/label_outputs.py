"""Objectives of tasks with optional outputs, class weights or sample weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_transformers.data.batches.protocols import Objective, Source
from keras_transformers.data.sources.row_weights import WeightedRows, WithRowWeights
from keras_transformers.data.sources.token_blocks import TokenBlocks
from keras_transformers.tasks.contract.kind import Kind
from keras_transformers.tasks.contract.parts import Parts
from keras_transformers.tasks.inputs.labels import label_numbers, label_rows
from keras_transformers.tasks.tokens.token_targets import target_classes


def full_objective(name: str, parts: Parts, outputs: Sequence[str], class_weight: dict[Any, float] | None) -> Objective:
    """Return the objective of a task, with labels of optional outputs and with class weights.

    Args:
        name: Name of the task.
        parts: Parts of the task.
        outputs: Optional outputs of the model.
        class_weight: The weight of a text in the loss by its label.

    Raises:
        ValueError: There are weights, and texts do not have one class each.
    """
    objective = parts.objective()
    if outputs:
        objective = AllOutputs(objective, parts.label_output, outputs)
    if class_weight is None:
        return objective
    if parts.class_weights is None:
        raise ValueError(
            f"class_weight is for texts of one class each: received one for {name}. Leave it out, or train on a "
            "data set of your own that has sample weights."
        )
    return WithClassWeights(objective, parts.label_output, parts.class_weights(class_weight))


def with_row_weights(kind: Kind, source: Source, objective: Objective, weights: Any) -> tuple[Source, Objective]:
    """Return a source and an objective with a weight for each text.

    Args:
        kind: Kind of the task.
        source, objective: The ones without weights.
        weights: One a text, at least 0; None for 1 each.

    Raises:
        ValueError: They are no numbers of at least 0, not as many as texts, or the rows of the task are no texts.
    """
    if weights is None:
        return source, objective
    if not kind.takes_weights or source.num_rows is None or isinstance(source, TokenBlocks):
        what = "a stream or a file of tokens" if kind.takes_weights else f"{kind.name}, whose rows are no texts"
        raise ValueError(
            f"sample_weight is for texts in memory that are read as one row each: received some for {what}. Leave it "
            "out; to let a text count twice, give it twice."
        )
    expected = "sample_weight must be a list of numbers from 0 on, one per text"
    numbers = label_numbers(label_rows(weights, expected), expected)
    if numbers.ndim != 1:
        raise ValueError(f"{expected}: received an array of shape {numbers.shape}.")
    if (wrong := ~((numbers >= 0) & np.isfinite(numbers))).any():
        row = int(wrong.argmax())
        raise ValueError(f"{expected}: received {numbers[row].item()} in row {row}.")
    return WeightedRows(source, numbers), WithRowWeights(objective)


class AllOutputs:
    """An objective with labels for the optional outputs of a model, too: zeros that are not read.

    Keras matches metrics with outputs by position: if an output has no label, it skips the metrics without a warning.

    Args:
        objective: The objective of the task.
        head: The output that the objective's labels are for, if they are one array.
        optional: Names of the other outputs.
    """

    def __init__(self, objective: Objective, head: str, optional: Sequence[str]):
        self.objective, self.head, self.optional = objective, head, tuple(optional)
        self.check = objective.check

    def __call__(self, rows: Any, width: Any, rng: Any = None) -> tuple:
        inputs, *labels = self.objective(rows, width, rng)
        if not labels:
            return (inputs,)
        heads = labels[0] if isinstance(labels[0], dict) else {self.head: labels[0]}
        unread = np.zeros(len(inputs["token_ids"]), np.int32)
        return inputs, {**heads, **dict.fromkeys(self.optional, unread)}


class WithClassWeights:
    """An objective that weights each target by its class. (Keras' `class_weight` allows one output and no weights.)

    Args:
        objective: The objective of the task, with whole numbers as labels of `head`: one per row, or `TokenTargets`.
        head: The output that those labels are for.
        weights: (C,) float, the weight of each class.
    """

    def __init__(self, objective: Objective, head: str, weights: np.ndarray):
        self.objective, self.head, self.weights = objective, head, np.asarray(weights, np.float32)
        self.check = objective.check

    def __call__(self, rows: Any, width: Any, rng: Any = None) -> tuple:
        inputs, *labels = self.objective(rows, width, rng)
        if not labels:
            return (inputs,)
        if not isinstance(labels[0], dict):
            return inputs, labels[0], self._of(labels[0])
        ones = {name: np.ones(len(array), np.float32) for name, array in labels[0].items()}
        return inputs, labels[0], {**ones, self.head: self._of(labels[0][self.head])}

    def _of(self, targets: np.ndarray) -> np.ndarray:
        return self.weights[np.maximum(target_classes(targets), 0)]
