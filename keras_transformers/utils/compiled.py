"""Functions that use a model, compiled by JAX: the weights are arguments of the program, not constants in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras


class Compiled:
    """A function that uses a model, compiled by JAX once for each shape of its arguments.

    Each call reads the current weights: those that `fit` or `set_weights` has changed need no other program. A call
    returns before the program has run; what reads a result waits for it. On other backends the function is called as
    it is.

    Args:
        model: The model whose variables the function reads. It must not change them.
        function: Function from structures of arrays to a structure of arrays.
        static: Places of the arguments that are hashable Python values; there is a program for each of them, too.
        others: Further models whose variables it reads.

    Attributes:
        num_programs: The number of programs that were compiled so far.

    Example:

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
    >>> double = Compiled(model, lambda inputs: 2 * model(inputs))
    >>> float(double(keras.ops.ones((1, 2)))[0, 0])
    4.0
    """

    def __init__(
        self, model: keras.Model, function: Callable[..., Any], static: tuple[int, ...] = (),
        others: Sequence[keras.Model] = (),
    ):  # fmt: skip
        variables = [variable for each in (model, *others) for variable in each.variables]
        self.variables = [*{id(variable): variable for variable in variables}.values()]
        self.function, self.program = function, None
        self.num_programs = 0
        if keras.config.backend() == "jax":
            import jax

            self.program = jax.jit(self._with_weights, static_argnums=[1 + place for place in static])

    def __call__(self, *arguments: Any) -> Any:
        if self.program is None:
            return self.function(*arguments)
        return self.program([variable.value for variable in self.variables], *arguments)

    def _with_weights(self, values: list[Any], *arguments: Any) -> Any:
        self.num_programs += 1  # JAX runs this function to compile it, and no more
        with keras.StatelessScope(state_mapping=list(zip(self.variables, values, strict=True))):
            return self.function(*arguments)
