"""Encoded texts, recorded once and replayed: further passes, with other heads, need no tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_transformers.analysis.explorer.passes import Passes
from keras_transformers.tasks import Task
from keras_transformers.tasks.answers.readers import PythonReader, Tensors
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.contract.parts import Setup
from keras_transformers.training.workers.distribute import on_tensorflow


class Noting(PythonReader):
    """A reader that records the encoded texts.

    Args:
        setup: The task's setup.
    """

    def __init__(self, setup: Setup):
        super().__init__(setup)
        self.encoded: list[Tensors] = []

    def __call__(self, texts: Any, pairs: Any = None, **options: Any) -> Tensors:
        self.encoded.append(super().__call__(texts, pairs, **options))
        return self.encoded[-1]

    def windows(self, questions: Any, contexts: Any, windows: Any, most: int) -> Tensors:
        self.encoded.append(super().windows(questions, contexts, windows, most))
        return self.encoded[-1]


class _Replaying:
    """A reader that returns the encoded texts of a recording, in the same order."""

    def __init__(self, encoded: Sequence[Tensors]):
        self.waiting = [dict(each) for each in encoded]

    def __call__(self, *texts: Any, **options: Any) -> Tensors:
        return self.waiting.pop(0)

    windows = __call__


def replayed(task: Task, signature: Signature) -> Passes:
    """Return the pass of a signature from encoded texts and texts, as `tensors_of` returns them, to the answer."""
    return Passes(task, lambda inputs: signature.run(_Replaying(inputs[0]), *inputs[1]))


def tensors_of(encoded: list[Tensors], columns: list[list[str]]) -> tuple[list[Tensors], list[Any]]:
    """Return the inputs of `replayed`."""
    if not on_tensorflow():
        return encoded, columns
    import tensorflow as tf

    encoded = [{name: tf.convert_to_tensor(value) for name, value in each.items()} for each in encoded]
    return encoded, [tf.constant(column) for column in columns]
