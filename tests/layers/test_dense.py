from __future__ import annotations

import math

import keras
import numpy as np
import pytest
from arrays import to_numpy, tolerance
from gradients import gradients
from keras import ops

from keras_transformers.layers.dense import dense_initializer, lean_gelu, silu

INPUTS, UNITS = 60, 90


@pytest.mark.parametrize("gain", [1.0, 0.5])
@pytest.mark.parametrize(
    "initializer_range, largest",
    [
        (None, math.sqrt(6 / (INPUTS + UNITS))),  # Glorot, uniform
        # Truncated at two standard deviations; 0.8796 is the deviation of what is left of a standard normal.
        ("fan_in", 2 / math.sqrt(INPUTS) / 0.8796),
        (0.02, 0.04),
    ],
)
def test_how_far_from_zero_weights_start(initializer_range, largest, gain):
    weights = to_numpy(dense_initializer(initializer_range, gain)((INPUTS, UNITS)))
    expected = largest if initializer_range == 0.02 else gain * largest
    assert abs(weights).max() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_lean_gelu_is_gelu(dtype):
    x = ops.cast(np.linspace(-20, 20, 4001), dtype)
    numbers = to_numpy(x).astype("float64")
    below = np.array([math.erfc(-number / math.sqrt(2)) / 2 for number in numbers])  # the normal distribution's share
    density = np.exp(-(numbers**2) / 2) / math.sqrt(2 * math.pi)
    np.testing.assert_allclose(to_numpy(lean_gelu(x)), numbers * below, **tolerance(dtype))
    np.testing.assert_allclose(to_numpy(lean_gelu(x)), to_numpy(keras.activations.gelu(x)), **tolerance(dtype))
    np.testing.assert_allclose(gradients(lean_gelu, x)[0], below + numbers * density, **tolerance(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_silu_is_that_of_keras(dtype):
    x = ops.cast(np.linspace(-20, 20, 4001), dtype)
    np.testing.assert_array_equal(to_numpy(silu(x)), to_numpy(keras.activations.silu(x)))
    np.testing.assert_array_equal(gradients(silu, x)[0], gradients(keras.activations.silu, x)[0])
