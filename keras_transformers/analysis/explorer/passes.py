"""Forward passes with all heads or without some; on TensorFlow they are traced once, as eager passes are slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from keras_transformers.analysis.attention.ablation import Head, projections, without_heads, zeroed
from keras_transformers.tasks import Task
from keras_transformers.text.strings import decoded
from keras_transformers.training.workers.distribute import on_tensorflow


def kept(task: Task, key: Any, make: Callable[[], Passes]) -> Passes:
    """Return the cached passes of a task, or new ones: tracing takes a second.

    The cache is an attribute of the task, so that both are freed together: passes refer to their task, and a global
    table would keep it for ever.
    """
    cached = vars(task).setdefault("_passes", {})
    if key not in cached:
        cached[key] = make()
    return cached[key]


class Passes:
    """A function of tensors that calls a task's model, with some heads switched off.

    Args:
        task: The task whose model is called.
        forward: The function, from any structure of tensors to a dict of tensors.
    """

    def __init__(self, task: Task, forward: Callable[[Any], dict[str, Any]]):
        self.task, self.forward = task, forward
        blocks = [layer for layer in task.model.layers if "_block_" in layer.name]
        layers = [layer for block in blocks for layer in _attentions(block)]
        self.variables = [variable for layer in layers for variable in projections(layer)]
        self._traced: Callable | None = None

    def __call__(self, inputs: Any, without: Sequence[Head] = ()) -> dict[str, np.ndarray]:
        """Return the outputs as arrays; strings in them are `str`.

        Args:
            inputs: The inputs of `forward`.
            without: Heads that are off.
        """
        task = self.task
        if not on_tensorflow():
            with without_heads(task.model, without, task.config.kind):
                return {name: np.asarray(value) for name, value in self.forward(inputs).items()}
        changed = {id(variable): value for variable, value in zeroed(task.model, without, task.config.kind)}
        values = [changed.get(id(variable), variable.value) for variable in self.variables]
        return {name: decoded(value.numpy()) for name, value in self._trace(inputs)(values, inputs).items()}

    def _trace(self, inputs: Any) -> Callable:
        """Return one trace for texts of all lengths."""
        if self._traced is None:
            import tensorflow as tf

            specs = tf.nest.map_structure(lambda x: tf.TensorSpec([None] * x.shape.rank, x.dtype), inputs)
            weights = [tf.TensorSpec(variable.shape, variable.dtype) for variable in self.variables]
            self._traced = tf.function(self._run, input_signature=[weights, specs], autograph=False)
        return self._traced

    def _run(self, values: list[Any], inputs: Any) -> dict[str, Any]:
        mapping = list(zip(self.variables, values, strict=True))
        with keras.StatelessScope(state_mapping=mapping, initialize_variables=False):
            return self.forward(inputs)


def _attentions(block: keras.layers.Layer) -> list[Any]:
    layers = (getattr(block, name, None) for name in ("attention", "cross_attention"))
    return [layer for layer in layers if layer is not None]
