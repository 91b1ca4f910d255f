"""The TensorFlow graph of a layer or model, and the functions inside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

import keras

from keras_transformers.utils.keras_private import function_graph

Result = TypeVar("Result")
LOOPS = ("While", "StatelessWhile")
CALLS = ("PartitionedCall", "StatefulPartitionedCall")
CHOICES = {"If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch")}


class Body:
    """A graph, or the body of a loop, call or branch in it.

    Args:
        graph: The graph, with `inputs` and `outputs`.
        around: The body that calls it; None for the whole graph.
        given: The tensors of `around` that are its arguments, by name, without those that change from trip to trip.
    """

    def __init__(self, graph: Any, around: Body | None = None, given: Mapping[str, Any] | None = None):
        self.graph, self.around, self.given = graph, around, given or {}
        self._inside: dict[tuple[str, str], Body] = {}

    @cached_property
    def operations(self) -> list[Any]:
        """Return the operations that an output depends on, in an order in which they can run.

        Keras traces the first step of a recurrent layer before its loop, for its shapes; TensorFlow never runs it.
        """
        wanted = ancestors(self.graph.outputs)
        found = [operation for operation in self.graph.get_operations() if operation.name in wanted]
        return [operation for operation in found if operation.type != "Placeholder"]

    def inside(self, operation: Any, attribute: str) -> Body:
        """Return the body that an operation calls: the `cond` or `body` of a loop, the `f` of a call, a branch."""
        key = (operation.name, attribute)
        if key not in self._inside:
            graph = function_graph(self.graph, operation.get_attr(attribute).name)
            self._inside[key] = Body(graph, self, self._given(operation, graph))
        return self._inside[key]

    def _given(self, operation: Any, graph: Any) -> dict[str, Any]:
        given = list(operation.inputs)[operation.type in CHOICES :]
        arguments = [tensor.name for tensor in graph.inputs]
        kept = [True] * len(arguments)
        if operation.type in LOOPS:
            body = function_graph(self.graph, operation.get_attr("body").name)
            kept = [new.name == old.name for new, old in zip(body.outputs, body.inputs, strict=True)]
        return {name: tensor for name, tensor, keeps in zip(arguments, given, kept, strict=True) if keeps}


def ancestors(tensors: Sequence[Any]) -> set[str]:
    """Return the names of the operations that tensors depend on."""
    found, waiting = set(), [tensor.op for tensor in tensors]
    while waiting:
        operation = waiting.pop()
        if operation.name not in found:
            found.add(operation.name)
            waiting += [tensor.op for tensor in operation.inputs]
    return found


def trace(layer: keras.layers.Layer, inputs: Any, **options: Any) -> Body:
    """Trace a layer or model, without the values of its weights and without running it.

    Args:
        layer: A Keras layer or model. One that is not built is built, with weights that have shapes but no values.
        inputs: A `keras.KerasTensor` of fixed shape, or a dict or list of them: the first argument of the layer.
        **options: Other arguments of its call.

    Returns:
        The graph. Its inputs are `inputs`, then the weights.

    Raises:
        ValueError: An input is no `KerasTensor` of fixed shape, or Keras does not run on TensorFlow.
    """
    import tensorflow as tf

    check_inputs(inputs)
    build_shapes(layer, inputs, **options)

    def forward(inputs, values):
        return tf.nest.flatten(call_with(layer, values, inputs, **options))

    specs = tf.nest.map_structure(lambda leaf: tf.TensorSpec(leaf.shape, leaf.dtype), (inputs, layer.variables))
    return Body(tf.function(forward, autograph=False).get_concrete_function(*specs).graph)


def call_with(layer: keras.layers.Layer, values: Sequence[Any], inputs: Any, **options: Any) -> Any:
    """Return a layer's outputs with these values for its `variables`.

    `layer.stateless_call` skips what `__call__` does first, such as a cast to float16.
    """
    mapping = list(zip(layer.variables, values, strict=True))
    with keras.StatelessScope(state_mapping=mapping, initialize_variables=False):
        return layer(inputs, **options)


def build_shapes(layer: keras.layers.Layer, inputs: Any, **options: Any) -> None:
    """Build a layer if it is not built, whatever its size: its weights have shapes but no values."""
    if not (layer.built and layer.variables):
        shapes_only(lambda: layer(inputs, **options))


def shapes_only(make: Callable[[], Result]) -> Result:
    """Build layers or models whose weights have shapes but no values.

    This happens in a separate thread: Keras lists such weights by thread, and would initialise them later, which
    takes gigabytes for a large model. `keras.utils.clear_session` would empty the list, but also reset the dtype
    policy, the seed and the names of layers.

    Args:
        make: The function that builds them.

    Returns:
        What `make` returns.

    Example:

    >>> model = shapes_only(lambda: keras.Sequential([keras.Input((10**6,)), keras.layers.Dense(10**6)]))
    >>> model.count_params()
    1000001000000
    """
    policy = keras.config.dtype_policy()

    def build() -> Result:
        keras.config.set_dtype_policy(policy)
        with keras.StatelessScope(initialize_variables=False):
            return make()

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(build).result()


def check_inputs(inputs: Any) -> None:
    """Raise a `ValueError` if inputs cannot be traced."""
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"operations are counted in TensorFlow's graph: received the backend {keras.backend.backend()!r}. "
            "Set KERAS_BACKEND=tensorflow."
        )
    leaves = keras.tree.flatten(inputs)
    fixed = [isinstance(leaf, keras.KerasTensor) and None not in leaf.shape for leaf in leaves]
    if not leaves or not all(fixed):
        raise ValueError(
            f"inputs must be a keras.KerasTensor of fixed shape, or a dict or list of them: received {inputs!r}. "
            "Expected for example keras.KerasTensor((1, 128, 64)): one row, 128 positions, 64 wide."
        )
