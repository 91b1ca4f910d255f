"""The number of trips of a loop in a traced graph, of which only the condition and the counter are evaluated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from keras_transformers.analysis.cost.traced import Body, ancestors

# The operations of counters, in NumPy: TensorFlow takes a hundred times as long for each of them, at every trip.
QUICK: dict[str, Callable[..., Any]] = {
    "Less": np.less, "LessEqual": np.less_equal, "Greater": np.greater, "GreaterEqual": np.greater_equal,
    "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or, "LogicalNot": np.logical_not, "AddV2": np.add,
    "Sub": np.subtract, "Mul": np.multiply, "Minimum": np.minimum, "Maximum": np.maximum, "Identity": np.asarray,
}  # fmt: skip


class Unknown(ValueError):
    """A value that does not follow from the graph alone."""


def trip_count(body: Body, loop: Any) -> int:
    """Return how often a loop runs.

    Args:
        body: The body that the loop is in.
        loop: An operation `While`.

    Returns:
        The number of its trips.

    Raises:
        ValueError: It depends on the input or the weights.
    """
    condition, inner = body.inside(loop, "cond"), body.inside(loop, "body")
    counters = _counters(condition, inner)
    try:
        state = {index: value_of(body, loop.inputs[index]) for index in counters}
        trips = 0
        while value_of(condition, condition.graph.outputs[0], _named(condition, state)):
            known = _named(inner, state)
            state = {index: value_of(inner, inner.graph.outputs[index], known) for index in counters}
            trips += 1
    except Unknown as error:
        raise ValueError(
            f"how often the loop {loop.name!r} runs depends on a value that is not in the graph: received {error}. "
            "Expected a number of trips that follows from the shapes; give inputs without a mask."
        ) from error
    return trips


def value_of(body: Body, tensor: Any, known: dict[str, Any] | None = None) -> Any:
    """Return the value of a tensor that does not depend on the input or the weights.

    Args:
        body: The body that the tensor is in.
        tensor: A tensor of the graph of `body`.
        known: Values by name; those computed on the way are added.

    Returns:
        An array.

    Raises:
        Unknown: It depends on more than constants.
    """
    known = {} if known is None else known
    if tensor.name in known:
        return known[tensor.name]
    operation = tensor.op
    if operation.type == "Placeholder":
        if body.around is None or tensor.name not in body.given:
            raise Unknown(f"the tensor {tensor.name!r}")
        known[tensor.name] = value_of(body.around, body.given[tensor.name])
        return known[tensor.name]
    inputs = [value_of(body, each, known) for each in operation.inputs]
    outputs = _run(operation, inputs)
    known |= {output.name: value for output, value in zip(operation.outputs, outputs, strict=True)}
    return known[tensor.name]


def _counters(condition: Body, inner: Body) -> list[int]:
    """Return the indices of the loop variables that the condition depends on, in this trip or a later one."""
    found, waiting = [], [(condition, condition.graph.outputs[0])]
    while waiting:
        body, tensor = waiting.pop()
        names = ancestors([tensor])
        new = [
            index
            for index, argument in enumerate(body.graph.inputs)
            if argument.op.name in names and index not in found
        ]
        found += new
        waiting += [(inner, inner.graph.outputs[index]) for index in new]
    return found


def _named(body: Body, state: dict[int, Any]) -> dict[str, Any]:
    return {body.graph.inputs[index].name: value for index, value in state.items()}


def _run(operation: Any, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Run an operation of a graph by itself; return its outputs."""
    if operation.type == "Const":
        return [_constant(operation)]
    if operation.type in QUICK:
        return [QUICK[operation.type](*inputs)]
    return _run_in_tensorflow(operation, inputs)


@cache
def _constant(operation: Any) -> np.ndarray:
    import tensorflow as tf

    return tf.make_ndarray(operation.get_attr("value"))


def _run_in_tensorflow(operation: Any, inputs: list[np.ndarray]) -> list[np.ndarray]:
    import tensorflow as tf

    run = getattr(tf.raw_ops, operation.type, None)
    if run is None:
        raise Unknown(f"the operation {operation.type}")
    # In Python some arguments have other names than in the graph, but they stand in the same order, inputs first.
    names = [name for name in inspect.signature(run).parameters if name != "name"]
    wanted = operation.op_def.input_arg
    arguments = {}
    for name, argument in zip(names, wanted, strict=False):
        size = operation.get_attr(argument.number_attr) if argument.number_attr else 1
        arguments[name] = inputs[:size] if argument.number_attr else inputs[0]
        inputs = inputs[size:]
    result = run(**arguments, **{name: operation.get_attr(name) for name in names[len(wanted) :]})
    return [each.numpy() for each in ([result] if len(operation.outputs) == 1 else result)]
