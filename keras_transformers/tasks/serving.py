"""What all exports need: a backend that can, and weights without adapters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras

from keras_transformers.training.distribute import on_tensorflow
from keras_transformers.training.lora import merged


def check_exportable() -> None:
    """Raises a `ValueError` where there is no TensorFlow."""
    if not on_tensorflow():
        raise ValueError(
            f"only the TensorFlow backend can export a SavedModel: received {keras.backend.backend()!r}. Save the "
            "folder with task.save, and export it in a process with KERAS_BACKEND=tensorflow."
        )


@contextmanager
def merged_service(answers: Any) -> Iterator[Any]:
    """The service of a task's answers, or where the model has adapters (LoRA) a new one, traced with these merged.

    Args:
        answers: With `model`, `service` and `make_service`.
    """
    with merged(answers.model) as has_adapters:
        yield answers.make_service() if has_adapters else answers.service
