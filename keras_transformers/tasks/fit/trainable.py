"""The interface of a task that `fit` and evaluation use."""

from __future__ import annotations

from typing import Any, Protocol

import keras

from keras_transformers.tasks.contract.kind import Kind
from keras_transformers.tasks.contract.parts import Parts


class Trainable(Protocol):
    """A model with a data set and losses, such as `Task`.

    Attributes:
        model: The model; `compile` compiles it again.
        kind: Kind of task, which says what texts and labels the task takes.
        parts: Source of rows, objective, losses and metrics.
    """

    model: keras.Model
    kind: Kind
    parts: Parts

    def dataset(self, texts: Any, labels: Any = None, **options: Any) -> Any:
        """Return a data set of batches for the model."""
        ...

    def compile(self, optimizer: Any = None, **options: Any) -> None:
        """Compile the model with the losses and metrics of the task."""
        ...
