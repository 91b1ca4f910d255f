"""A walk through a traced graph, with loops as often as they run: its costs, and its longest chain of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from keras_transformers.analysis.cost.operations import bytes_made, multiply_adds
from keras_transformers.analysis.cost.traced import CALLS, CHOICES, LOOPS, Body
from keras_transformers.analysis.cost.trips import trip_count


class Origin(NamedTuple):
    """The origin of a tensor.

    Args:
        varies: Whether it depends on the input of the graph, not on weights and constants alone.
        steps: Length of the longest chain of products that leads to it.
    """

    varies: bool = False
    steps: int = 0


class Work(NamedTuple):
    """The costs of a graph.

    Args:
        products: Multiply-adds.
        of_activations: Multiply-adds of products whose factors both depend on the input.
        made: Bytes of the tensors that depend on the input.
        recurrent: Trips of the longest loop in which each trip waits for a product of the one before.
    """

    products: int = 0
    of_activations: int = 0
    made: int = 0
    recurrent: int = 0

    def plus(self, other: Work) -> Work:
        """Return the costs of both: sums, and the longer of the loops."""
        return Work(
            self.products + other.products,
            self.of_activations + other.of_activations,
            self.made + other.made,
            max(self.recurrent, other.recurrent),
        )


class _Cost(NamedTuple):
    """The inputs and outputs of an operation, by name, and its costs; `operation` is None if it has no body inside."""

    operation: Any | None
    inputs: list[str]
    outputs: list[str]
    products: int = 0
    made: int = 0


class Walker:
    """A walker through bodies, which caches the costs of their operations, since loops repeat them.

    Example:

    >>> import keras
    >>> from keras_transformers.analysis.cost.traced import trace
    >>> body = trace(keras.layers.Dense(3), keras.KerasTensor((1, 5, 2)))
    >>> outputs, work = Walker().walk(body, [Origin(varies=True), Origin(), Origin()])
    >>> work.products, outputs[0].steps
    (30, 1)
    """

    def __init__(self):
        self._costs: dict[Body, list[_Cost]] = {}

    def walk(self, body: Body, arguments: Sequence[Origin]) -> tuple[list[Origin], Work]:
        """Walk through a body once.

        Args:
            body: A graph, or the body of a loop or function.
            arguments: The origin of each input.

        Returns:
            The origin of each output, and the costs.

        Raises:
            ValueError: A shape is unknown, or the number of trips of a loop, or a product cannot be read.
        """
        origins = {tensor.name: origin for tensor, origin in zip(body.graph.inputs, arguments, strict=True)}
        work = Work()
        for cost in self._costs_of(body):
            before = [origins.get(name, Origin()) for name in cost.inputs]
            after, more = self._enter(body, cost.operation, before) if cost.operation else _pass(before, cost)
            origins |= dict(zip(cost.outputs, after, strict=True))
            work = work.plus(more)
        return [origins.get(tensor.name, Origin()) for tensor in body.graph.outputs], work

    def _costs_of(self, body: Body) -> list[_Cost]:
        if body not in self._costs:
            self._costs[body] = [_cost(operation) for operation in body.operations]
        return self._costs[body]

    def _enter(self, body: Body, operation: Any, before: list[Origin]) -> tuple[list[Origin], Work]:
        if operation.type in CALLS:
            return self.walk(body.inside(operation, "f"), before)
        if operation.type in LOOPS:
            return self._loop(body.inside(operation, "body"), before, trip_count(body, operation))
        # The graph does not tell which branch runs: the one with more products counts.
        branches = [body.inside(operation, name) for name in CHOICES[operation.type]]
        return max((self.walk(branch, before[1:]) for branch in branches), key=lambda result: result[1])

    def _loop(self, body: Body, origins: list[Origin], trips: int) -> tuple[list[Origin], Work]:
        work, steps = Work(), []
        for _ in range(trips):
            origins, more = self.walk(body, origins)
            work = work.plus(more)
            steps.append([origin.steps for origin in origins])
        # A loop over independent parts of a tensor has as long a chain after its last trip as after its first.
        waits = max((last - first for first, last in zip(steps[0], steps[-1], strict=True)), default=0) if trips else 0
        return origins, work.plus(Work(recurrent=trips if waits and waits >= trips - 1 else 0))


def _cost(operation: Any) -> _Cost:
    inputs, outputs = ([tensor.name for tensor in tensors] for tensors in (operation.inputs, operation.outputs))
    if operation.type in (*CALLS, *LOOPS, *CHOICES):
        return _Cost(operation, inputs, outputs)
    if operation.type in ("Enter", "Merge", "Case", "StatelessCase", "For", "SymbolicGradient"):
        raise ValueError(
            f"the operation {operation.type} ({operation.name!r}) cannot be followed: expected loops and branches of "
            "TensorFlow 2. Do not disable its control flow; write tf.cond for tf.switch_case."
        )
    return _Cost(None, inputs, outputs, multiply_adds(operation), bytes_made(operation))


def _pass(before: list[Origin], cost: _Cost) -> tuple[list[Origin], Work]:
    """Return the origins and costs of an operation without a body: all outputs wait for all inputs."""
    varies, steps = any(origin.varies for origin in before), max((origin.steps for origin in before), default=0)
    of_activations = cost.products if all(origin.varies for origin in before[:2]) else 0
    work = Work(cost.products, of_activations, cost.made if varies else 0)
    return [Origin(varies, steps + (cost.products > 0))] * len(cost.outputs), work
