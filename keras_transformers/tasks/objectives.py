"""Labels for models with optional outputs, and weights of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_transformers.data.protocols import Objective
from keras_transformers.data.token_targets import target_classes
from keras_transformers.tasks.parts import Parts


def full_objective(name: str, parts: Parts, outputs: Sequence[str], class_weight: dict[Any, float] | None) -> Objective:
    """The objective of a task, with what its model and the caller add.

    Args:
        name: Of the task.
        parts: Of the task.
        outputs: Optional outputs of the model.
        class_weight: What a text counts by its label.

    Raises:
        ValueError: There are weights where texts have no class, or several.
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


class AllOutputs:
    """An objective that labels the optional outputs of a model too, with zeros that nothing reads.

    Keras matches metrics with outputs by position: if an output has no label, it passes over the metrics, silently.

    Args:
        objective: The task's (see `data.pipeline`).
        head: The output that the objective's labels are for, if they are one array.
        optional: Names of the other outputs.
    """

    def __init__(self, objective: Objective, head: str, optional: Sequence[str]):
        self.objective, self.head, self.optional = objective, head, tuple(optional)
        self.check = objective.check

    def __call__(self, rows: Any, width: int, rng: np.random.Generator | None = None) -> tuple:
        inputs, *labels = self.objective(rows, width, rng)
        if not labels:
            return (inputs,)
        heads = labels[0] if isinstance(labels[0], dict) else {self.head: labels[0]}
        unread = np.zeros(len(inputs["token_ids"]), np.int32)
        return inputs, {**heads, **dict.fromkeys(self.optional, unread)}


class WithClassWeights:
    """An objective that weighs each target by its class. (Keras' `class_weight` takes no weights or outputs besides.)

    Args:
        objective: The task's, with whole numbers as labels of `head`: one a row, or `TokenTargets`.
        head: The output that those labels are for.
        weights: (C,) float, what a row of each class counts.
    """

    def __init__(self, objective: Objective, head: str, weights: np.ndarray):
        self.objective, self.head, self.weights = objective, head, np.asarray(weights, np.float32)
        self.check = objective.check

    def __call__(self, rows: Any, width: int, rng: np.random.Generator | None = None) -> tuple:
        inputs, *labels = self.objective(rows, width, rng)
        if not labels:
            return (inputs,)
        if not isinstance(labels[0], dict):
            return inputs, labels[0], self._of(labels[0])
        ones = {name: np.ones(len(array), np.float32) for name, array in labels[0].items()}
        return inputs, labels[0], {**ones, self.head: self._of(labels[0][self.head])}

    def _of(self, targets: np.ndarray) -> np.ndarray:
        return self.weights[np.maximum(target_classes(targets), 0)]
