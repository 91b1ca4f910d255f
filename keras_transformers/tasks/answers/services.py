"""Services of tasks: rebuilt when the model changes, and exported with adapters merged into the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import keras

from keras_transformers.tasks.contract.parts import Answers, MadeService, Setup
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.lora import merged
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.number_checks import is_size

if TYPE_CHECKING:
    from keras_transformers.text.graph.compile import TextGraph


def check_exportable(kept_by: str = "Save the folder with task.save") -> None:
    """Raise a `ValueError` on other backends than TensorFlow.

    Args:
        kept_by: Remedy to give in the error message, for an export later.
    """
    if not on_tensorflow():
        raise ValueError(
            f"only the TensorFlow backend can export a SavedModel: received {keras.backend.backend()!r}. "
            f"{kept_by}, and export it in a process with KERAS_BACKEND=tensorflow."
        )


@contextmanager
def merged_service(answers: Answers, make: Callable[[], Any] | None = None) -> Iterator[Any]:
    """Yield the service of a task; if the model has adapters (LoRA), a new one, traced while they are merged.

    Args:
        answers: Answers of the task.
        make: Makes the service instead, with the weights at this moment.
    """
    with merged(answers.model) as has_adapters:
        if make is None:
            make = answers.make_service if has_adapters else lambda: answers.service
        yield make()


def current_service(answers: Answers, settings: Any = ()) -> Any:
    """Return the service of a task: built at the first call, and again after weights or settings have changed.

    Args:
        answers: Answers of the task.
        settings: Values that are traced into the service besides the model.
    """
    # Adapters (LoRA) are new weights, which functions traced before do not use.
    weights, made = answers.model.weights, answers.made_service
    if made is None or made.settings != settings or [*map(id, made.weights)] != [*map(id, weights)]:
        made = answers.made_service = MadeService(weights, settings, answers.make_service())
    return made.service


def generation_backend(setup: Setup) -> tuple[ModuleType, Callable[..., Any], TextGraph | Tokenizer]:
    """Return what generates texts on a backend: the module of readers, the class of services, and the tokenizer.

    Args:
        setup: Setup of the task.
    """
    if on_tensorflow():
        from keras_transformers.generation import graph_text
        from keras_transformers.generation.service import GenerationService

        return graph_text, GenerationService, setup.text_graph
    from keras_transformers.generation import python_text
    from keras_transformers.generation.bucketed import BucketedService

    return python_text, BucketedService, setup.tokenizer


def check_counts(**counts: Any) -> list[int]:
    """Return the counts as int, in their order; raise a `ValueError` if one is no integer of at least 1."""
    if wrong := {name: count for name, count in counts.items() if not is_size(count)}:
        raise ValueError(f"{', '.join(counts)} must be at least 1, and whole: received {wrong}.")
    return [int(count) for count in counts.values()]
