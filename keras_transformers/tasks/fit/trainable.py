"""What `fit` and evaluation need of a task."""

from __future__ import annotations

from typing import Any, Protocol

import keras

from keras_transformers.tasks.parts import Kind, Parts


class Trainable(Protocol):
    """A model with a data set and losses, such as `Task`.

    Attributes:
        model: Learns; `compile` compiles it anew.
        kind: Which texts and labels it takes.
        parts: Its source of rows, objective, losses and metrics.
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
