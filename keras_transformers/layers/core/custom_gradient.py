"""Custom gradients that are freed together with their graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

import keras
from keras import ops

from keras_transformers.utils.keras_private import record_gradient
from keras_transformers.utils.tensor_types import Tensor

NAME = "KerasTransformersGradient"
LOCK = Lock()


def custom_gradient(function: Callable) -> Callable:
    """Decorate a function of one output like `keras.ops.custom_gradient`, without the graphs that TensorFlow keeps.

    In a graph `tf.custom_gradient` registers every gradient under a new name, and the gradient refers to the graph, so
    that no graph of a training step is ever freed. Here a single name is registered, and the operation holds its
    gradient. A copy of the operation, such as a SavedModel's, has no custom gradient: TensorFlow differentiates the ops
    of `function` instead.

    Args:
        function: Function from tensors to a tensor and a gradient function, which maps the output's gradient to a
            sequence, one for each input. If `function` reads weights in a graph, the gradient function also gets the
            list `variables`, and returns a sequence for the inputs and one for the weights.

    Returns:
        A function from tensors to a tensor.

    Example:

    >>> square = custom_gradient(lambda x: (x * x, lambda upstream: (2 * x * upstream,)))
    >>> float(square(ops.convert_to_tensor(3.0)))
    9.0
    """

    def call(*tensors):
        return _in_graph(function, tensors) if in_graph() else ops.custom_gradient(function)(*tensors)

    return call


def in_graph() -> bool:
    """Return whether TensorFlow is building a graph.

    Example:

    >>> in_graph()
    False
    """
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return not tf.executing_eagerly()


def _in_graph(function: Callable, tensors: tuple[Tensor, ...]) -> Tensor:
    import tensorflow as tf

    _register()
    tensors = tuple(tf.identity(x) for x in tensors)  # in this graph: in a branch, they may be of the outer graph
    with tf.GradientTape() as tape:
        output, gradient = function(*tensors)
    variables = tape.watched_variables()

    def gradients(upstream):
        if not variables:
            return [None, *gradient(upstream)]
        of_inputs, of_variables = gradient(upstream, variables=variables)
        return [None, *of_inputs, *of_variables]

    inputs = [tf.convert_to_tensor(x) for x in (output, *tensors, *variables)]
    with output.graph.gradient_override_map({"IdentityN": NAME}):  # for gradients of the graph
        outputs = tf.identity_n(inputs)
    record_gradient(NAME, inputs, outputs)  # for gradients by a tape while the graph is built
    outputs[0].op.keras_transformers_gradient = gradients
    return outputs[0]


def _register() -> None:
    with LOCK:  # two threads may trace their first models at once, and TensorFlow refuses a second registration
        _register_once()


@cache
def _register_once() -> None:
    import tensorflow as tf

    @tf.RegisterGradient(NAME)
    def differentiate(operation: Any, *upstreams: Tensor) -> list[Tensor | None]:
        if operation is None:  # a copy's gradient is saved
            return list(upstreams)
        # The operation that a tape passes is another object, but its outputs are the same.
        gradients = getattr(operation.outputs[0].op, "keras_transformers_gradient", None)
        return list(upstreams) if gradients is None else gradients(upstreams[0])
