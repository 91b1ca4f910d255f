"""Maximum path length of layers: the layers or steps that a signal crosses from the first position to the last."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import keras
import numpy as np

from keras_transformers.analysis.cost.complexity import complexity
from keras_transformers.analysis.cost.traced import build_shapes, call_with, check_inputs

# Derivatives below this multiple of the smallest number of their type are an error: others may have become zero.
MARGIN = 1e6
# Small states lie where tanh and sigmoid are steep: derivatives of many steps do not vanish.
SMALL = 0.1


def path_length(
    layer: keras.layers.Layer | Callable[[int], keras.layers.Layer], inputs: keras.KerasTensor, **options: Any
) -> int | None:
    """Return the maximum path length of a layer: how many layers or steps a signal crosses from input 1 to output T.

    Layers are stacked until the derivative of the last output position with respect to the first input position is not
    zero. A recurrent layer counts as often as its loop has trips; if it has other paths, too, the longest loop counts.
    Weights and inputs are random, so that a derivative is zero only if it is always zero. The layer's own weights are
    not used.
    Paper: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, table 1.

    Args:
        layer: A layer from (B, T, D) to (B, T, D); or a function from the number of layers below, from 0, to the next
            layer, for example a convolution of growing dilation. Of several outputs the first one counts. A layer that
            is not built is built for the inputs, as by `complexity`.
        inputs: `keras.KerasTensor` of float (1, T, D).
        **options: Other arguments of each call, such as an `attention_mask`.

    Returns:
        Number of layers, where a recurrent layer counts as its steps; None if T layers do not connect the two.

    Raises:
        ValueError: The inputs are not (1, T, D) of float, a layer changes their shape, or derivatives are too small to
            be told from zero, as in long recurrent layers.

    Example:

    >>> inputs = keras.KerasTensor((1, 9, 4))
    >>> path_length(keras.layers.Conv1D(4, kernel_size=3, padding="causal"), inputs)
    4
    >>> path_length(keras.layers.SimpleRNN(4, return_sequences=True), inputs)
    9
    """
    _check(inputs)
    last = np.arange(inputs.shape[1]) == inputs.shape[1] - 1
    if isinstance(layer, keras.layers.Layer):
        probe, rows = _probe(layer, inputs, options), last
        for depth in range(1, len(last) + 1):
            rows, above = probe(rows), rows
            if rows[0]:
                return depth * _steps(layer, inputs, options)
            if (rows == above).all():
                return None
        return None

    layers = cache(layer)
    probes = cache(lambda index: _probe(layers(index), inputs, options))
    for depth in range(1, len(last) + 1):
        rows = last
        for index in reversed(range(depth)):
            rows = probes(index)(rows)
        if rows[0]:
            return sum(_steps(layers(index), inputs, options) for index in range(depth))
    return None


def _steps(layer: keras.layers.Layer, inputs: keras.KerasTensor, options: dict[str, Any]) -> int:
    return max(1, complexity(layer, inputs, **options).recurrent_steps)


def _probe(layer: keras.layers.Layer, inputs: keras.KerasTensor, options: dict[str, Any]) -> Callable:
    """Return a function from output positions, boolean (T,), to the input positions that they depend on."""
    import tensorflow as tf

    build_shapes(layer, inputs, **options)
    generator = np.random.default_rng(0)
    weights = [_random(generator, variable.shape, variable.dtype) for variable in layer.variables]
    states = tf.constant(SMALL * generator.normal(size=inputs.shape), inputs.dtype)

    @tf.function(autograph=False)
    def derivative(rows):
        with tf.GradientTape() as tape:
            tape.watch(states)
            output = tf.nest.flatten(call_with(layer, weights, states, **options))[0]
            if output.shape != states.shape:
                raise ValueError(
                    f"layers can be stacked where the output has the shape of the input: received {output.shape} from "
                    f"{layer.name!r} for {tuple(states.shape)}. Expected (1, T, D); give return_sequences=True to a "
                    "recurrent layer, and padding to a convolution."
                )
            watched = tf.reduce_sum(tf.boolean_mask(output * generator.normal(size=output.shape), rows, axis=1))
        return tape.gradient(watched, states, unconnected_gradients="zero")  # (1, T, D)

    derivative = derivative.get_concrete_function(tf.TensorSpec(inputs.shape[1:2], tf.bool))
    return lambda rows: _support(derivative(tf.constant(rows)).numpy(), layer.name)


def _random(generator: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return random weights whose products keep the scale of their inputs."""
    scale = 1 / math.sqrt(math.prod(shape[:-1])) if len(shape) > 1 else SMALL
    return (scale * generator.normal(size=shape)).astype(dtype)


def _support(derivative: np.ndarray, name: str) -> np.ndarray:
    """Return the positions whose derivative (1, T, D) is not zero, boolean (T,)."""
    sizes = np.abs(derivative[0]).max(axis=-1)  # (T,)
    tiny = np.finfo(derivative.dtype).tiny * MARGIN
    if not np.isfinite(sizes).all() or ((sizes > 0) & (sizes < tiny)).any():
        raise ValueError(
            f"derivatives of {name!r} are too small or too large to decide which are zero: received values from "
            f"{sizes.min():.1e} to {sizes.max():.1e} in {derivative.dtype}. Make the layer and the inputs with "
            'dtype="float64", or take a shorter length.'
        )
    return sizes > 0


def _check(inputs: Any) -> None:
    check_inputs(inputs)
    shape: tuple[int | None, ...] = getattr(inputs, "shape", ())
    dtype = getattr(inputs, "dtype", "")
    if len(shape) != 3 or shape[0] != 1 or not str(dtype).startswith(("float", "bfloat")):
        raise ValueError(
            f"a path length is that of a layer for one row of vectors: received inputs {inputs!r}. Expected a "
            "keras.KerasTensor of float (1, T, D), not token ids: give a block of the model, not the model."
        )
