"""Distillation for recipes of small encoders: a student cut out of its teacher, which learns the teacher's vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from keras_transformers.data.sources.rows import Rows


def cut_weights(student: keras.Model, teacher: keras.Model, layers: Sequence[int]) -> None:
    """Assign the weights of some layers of a teacher, and of its first positions, to a student.

    Args:
        student: An encoder with as many blocks as there are `layers`.
        teacher: An encoder of the same widths and vocabulary.
        layers: The number of the teacher's block for each block of the student.
    """
    weights = {weight.path: keras.ops.convert_to_numpy(weight) for weight in teacher.weights}
    for weight in student.weights:
        block, *rest = weight.path.split("/", 1)
        name, _, number = block.rpartition("_")
        source = f"{name}_{layers[int(number)]}/{rest[0]}" if name == "encoder_block" else weight.path
        weight.assign(weights[source][: weight.shape[0]])


@dataclass(frozen=True)
class Teaching:
    """The objective of a student: the inputs of its model, and the teacher's outputs for them as targets.

    Args:
        teach: Function that returns the teacher's `hidden_states` (B, S, D) and `embedding` (B, D) for the inputs of
            both models.
        pad_id: The id of padding.
    """

    teach: Callable[[dict[str, np.ndarray]], dict[str, Any]]
    pad_id: int = 0

    def check(self, rows: Rows) -> None:
        """Accept any rows: there are no labels to check."""

    def __call__(self, rows: Rows, width: int, rng: np.random.Generator) -> tuple:
        inputs = rows.padded(width, self.pad_id)
        taught = {name: np.array(value, np.float32) for name, value in self.teach(inputs).items()}
        taught["hidden_states"][inputs["padding_mask"] == 0] = np.nan  # no target
        return inputs, taught
