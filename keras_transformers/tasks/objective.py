"""Labels for models with optional outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class AllOutputs:
    """An objective that labels the optional outputs of a model too, with zeros that nothing reads.

    Keras matches metrics with outputs by position: if an output has no label, it passes over the metrics, silently.

    Args:
        objective: The task's (see `data.pipeline`).
        head: The output that the objective's labels are for, if they are one array.
        optional: Names of the other outputs.
    """

    def __init__(self, objective: Any, head: str, optional: Sequence[str]):
        self.objective, self.head, self.optional = objective, head, tuple(optional)
        self.check = objective.check

    def __call__(self, rows: Any, width: int, rng: np.random.Generator | None = None) -> tuple:
        inputs, *labels = self.objective(rows, width, rng)
        if not labels:
            return (inputs,)
        heads = labels[0] if isinstance(labels[0], dict) else {self.head: labels[0]}
        unread = np.zeros(len(inputs["token_ids"]), np.int32)
        return inputs, {**heads, **dict.fromkeys(self.optional, unread)}
