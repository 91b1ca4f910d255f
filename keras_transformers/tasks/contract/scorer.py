"""Further scores of a task, beside its metrics."""

from __future__ import annotations

from typing import Any, Protocol


class Scorer(Protocol):
    """Further scores that `evaluate` computes from the outputs of the model."""

    def add(self, inputs: Any, labels: Any, outputs: Any) -> None:
        """Take a batch of the data set, in its order.

        Args:
            inputs, labels: The batch, as the data set yields it.
            outputs: The model's outputs for it, as arrays.
        """

    def result(self) -> dict[str, float]:
        """Return the scores by name, once all batches are taken."""
