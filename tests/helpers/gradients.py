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
