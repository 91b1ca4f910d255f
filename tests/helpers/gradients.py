"""Gradients with respect to arrays, on each backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from arrays import to_numpy
from keras import ops


def gradients(function: Callable, *arrays: Any) -> list:
    """The gradient of the sum of a function's result with respect to each of its arguments, as numpy arrays."""
    tensors = [ops.convert_to_tensor(array) for array in arrays]

    def total(*values):
        return ops.sum(function(*values))

    if keras.backend.backend() == "jax":
        import jax

        return to_numpy(list(jax.grad(total, argnums=range(len(tensors)))(*tensors)))
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(tensors)
        result = total(*tensors)
    return to_numpy(tape.gradient(result, tensors))


def weight_gradients(layer: keras.Layer, upstream: Any, arguments: dict[str, Any], **options: Any) -> dict:
    """The gradients of a built layer's weights by their names, as numpy arrays.

    Args:
        layer: Whose output is one tensor.
        upstream: float32, the gradient of the output.
        arguments: Arrays, of its call.
        options: More arguments of its call.
    """
    weights = layer.trainable_variables

    def total():
        output = layer(**arguments, **options)
        return ops.sum(ops.cast(output, "float32") * upstream)

    if keras.backend.backend() == "jax":
        import jax

        def stateless(values):
            with keras.StatelessScope(list(zip(weights, values, strict=True))):
                return total()

        found = jax.jit(jax.grad(stateless))([weight.value for weight in weights])
    else:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            result = total()
        found = [tf.convert_to_tensor(one) for one in tape.gradient(result, [weight.value for weight in weights])]
    return dict(zip([weight.name for weight in weights], to_numpy(found), strict=True))
