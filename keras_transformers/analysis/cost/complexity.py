"""The cost of a layer or model, counted from its weights and from the graph that TensorFlow traces."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import keras

from keras_transformers.analysis.cost.traced import trace
from keras_transformers.analysis.cost.walk import Origin, Walker


@dataclass(frozen=True)
class Complexity:
    """The cost of one layer or model for inputs of one shape.

    Args:
        parameters: Number of parameters.
        multiply_adds: Number for all matrix products and convolutions in a forward pass. A loop counts as often as it
            runs, and
            of two branches the more expensive one counts; additions, scaling and norms do not. A multiply-add is two
            FLOPs.
        mixing_multiply_adds: Number for the products of two tensors that both depend on the input: in attention the
            scores
            and the sums of values, without the projections.
        sequential_steps: Products and convolutions in the longest chain in which each waits for the one before.
        recurrent_steps: Trips of the longest loop in which each trip waits for a product of the one before; 0 for none.
        activation_bytes: Size of all tensors that the forward pass computes from the input, without views: an upper
            bound on
            what the backward pass keeps.
    """

    parameters: int
    multiply_adds: int
    mixing_multiply_adds: int
    sequential_steps: int
    recurrent_steps: int
    activation_bytes: int

    @property
    def weight_multiply_adds(self) -> int:
        """Multiply-adds of the products with weights."""
        return self.multiply_adds - self.mixing_multiply_adds

    @property
    def flops(self) -> int:
        """Floating-point operations: two for a multiply-add."""
        return 2 * self.multiply_adds


def complexity(layer: keras.layers.Layer, inputs: Any, **options: Any) -> Complexity:
    """Count the cost of a layer or model. Nothing is computed, and a layer that is not built gets no memory.

    Paper: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, table 1, has the orders of growth.

    Args:
        layer: Keras layer or model. A layer that is not built is built for the inputs, with weights that have shapes
            but no values: it can be counted again, but not called.
        inputs: A `keras.KerasTensor` of a fixed shape, such as (B, T, D), or a dict or list of them, as the layer takes
            its first argument.
        **options: Other arguments of the call, such as an `attention_mask` (arrays and plain values).

    Returns:
        The counts, for the whole batch.

    Raises:
        ValueError: A size is unknown, the number of trips of a loop depends on more than shapes, a product cannot be
            read (kernels of graphics cards), or Keras does not run on TensorFlow.

    Example:

    >>> from keras_transformers.layers import Attention
    >>> counted = complexity(Attention(num_heads=2, use_bias=False), keras.KerasTensor((1, 10, 8)))
    >>> counted.parameters == 4 * 8**2, counted.weight_multiply_adds == 4 * 10 * 8**2
    (True, True)
    >>> counted.mixing_multiply_adds == 2 * 10**2 * 8, counted.sequential_steps  # queries, scores, values, output
    (True, 4)
    """
    body = trace(layer, inputs, **options)
    num_inputs = len(keras.tree.flatten(inputs))
    arguments = [Origin(varies=index < num_inputs) for index in range(len(body.graph.inputs))]
    outputs, work = Walker().walk(body, arguments)
    return Complexity(
        parameters=_numbers(layer.variables),
        multiply_adds=work.products,
        mixing_multiply_adds=work.of_activations,
        sequential_steps=max((origin.steps for origin in outputs), default=0),
        recurrent_steps=work.recurrent,
        activation_bytes=work.made,
    )


def _numbers(variables: Iterable[keras.Variable]) -> int:
    """Return how many numbers weights have, without the states of random generators."""
    return sum(math.prod(variable.shape) for variable in variables if "seed" not in variable.name)
