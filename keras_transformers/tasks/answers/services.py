"""Services of tasks: rebuilt when the model changes, and exported with adapters merged into the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

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


def check_compute(compute: Any) -> None:
    """Raise a `ValueError` if `compute` is neither None nor "int8"."""
    if compute is not None and not (isinstance(compute, str) and compute == "int8"):
        raise ValueError(f'compute must be "int8", or None for the dtype of the model: received {compute!r}.')


def check_compiled(compiled: Any, prompt_lookup: Any = None, draft: Any = None) -> None:
    """Raise a `ValueError` if `compiled` is not True or False, or does not go with guesses."""
    if not isinstance(compiled, bool):
        raise ValueError(f"compiled must be True or False: received {compiled!r}.")
    if compiled and prompt_lookup is not None:
        raise ValueError(
            f"compiled=True reads a token at a time, prompt_lookup={prompt_lookup!r} several: leave one of them out."
        )
    if compiled and draft is not None:
        raise ValueError("compiled=True reads a token at a time, a draft's guesses are several: leave one of them out.")


class Compiling:
    """Answers that XLA computes in this process, if `compiled` is set: single texts, and generated ones.

    As with `compiled` of `export`, a single text is padded to one of a few lengths, and the rows and lengths of
    generated texts to powers of two. The first text of each size takes some seconds more. Samples are others, as XLA
    draws other numbers from a seed. On JAX, XLA computes all answers in any case.
    """

    _compiled = False

    @property
    def compiled(self) -> bool:
        """Return whether XLA computes answers; it can be set.

        Raises:
            ValueError: The value is not True or False, or, when it is set, the size of an answer depends on the text.
        """
        return self._compiled

    @compiled.setter
    def compiled(self, compiled: bool):
        check_compiled(compiled)
        before, self._compiled = self._compiled, compiled
        try:
            _ = cast(Answers, self).service  # made with the setting, which it may refuse
        except ValueError:
            self._compiled = before
            raise


@contextmanager
def merged_service(
    answers: Answers, make: Callable[[], Any] | None = None, compute: str | None = None
) -> Iterator[Any]:
    """Yield the service of a task; if the model has adapters (LoRA), a new one, traced while they are merged.

    Args:
        answers: Answers of the task.
        make: Makes the service instead, with the weights at this moment.
        compute: "int8" for a new service with weights of 8 bits, which are in use inside; None for the model's.
    """
    with merged(answers.model) as has_adapters, ExitStack() as stack:
        weights = None
        if compute is not None:
            from keras_transformers.tasks.exports.int8 import LEAST_OF_STEP, Int8Weights

            setup = answers.setup
            least = LEAST_OF_STEP if setup.kind.writes_text else 0
            weights = Int8Weights(answers.model, setup.config, setup.max_length, least)
            stack.enter_context(weights.in_use())
        if make is None:
            make = answers.make_service if has_adapters or weights else lambda: answers.service
        service = make()
        if weights is not None:
            service.module.weights = weights.variables
        yield service


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
        from keras_transformers.generation.serving import graph_text
        from keras_transformers.generation.serving.service import GenerationService

        return graph_text, GenerationService, setup.text_graph
    from keras_transformers.generation import python_text
    from keras_transformers.generation.bucketed import BucketedService

    return python_text, BucketedService, setup.tokenizer


def check_counts(**counts: Any) -> list[int]:
    """Return the counts as int, in their order; raise a `ValueError` if one is no integer of at least 1."""
    if wrong := {name: count for name, count in counts.items() if not is_size(count)}:
        raise ValueError(f"{', '.join(counts)} must be at least 1, and whole: received {wrong}.")
    return [int(count) for count in counts.values()]
