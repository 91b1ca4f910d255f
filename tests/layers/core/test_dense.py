from __future__ import annotations

import math

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy, tolerance
from gradients import gradients, weight_gradients
from keras import ops
from only_tensorflow import only_tensorflow

from keras_transformers.layers.core.dense import (
    Dense,
    add_bias,
    dense_initializer,
    find_activation,
    gelu,
    lean_gelu,
    silu,
)

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
@pytest.mark.parametrize("name", ["gelu", "object"])
def test_gelu_is_that_of_keras(name, dtype):
    x = ops.cast(np.linspace(-20, 20, 4001), dtype)
    found = find_activation("gelu" if name == "gelu" else keras.activations.gelu)
    assert found is gelu and keras.activations.deserialize(keras.activations.serialize(gelu)) is gelu
    np.testing.assert_allclose(to_numpy(gelu(x)), to_numpy(keras.activations.gelu(x)), rtol=1e-6, atol=1e-6)


@only_tensorflow
def test_gelu_takes_no_erfc():
    """ONNX has no such operator."""
    import tensorflow as tf

    graph = tf.function(gelu).get_concrete_function(tf.TensorSpec((None, 3))).graph
    assert {"Erf"} == {op.type for op in graph.get_operations() if op.type.startswith("Erf")}


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


@pytest.mark.parametrize("activation", [None, "tanh"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_biases_learn_from_sums_in_float32(dtype, activation):
    """The gradients of 4,096 rows: a sum in bfloat16 stays at 256 to 512; a few roundings are less than 1 %."""
    inputs = np.zeros((512, 8, 3), "float32")
    upstream = to_numpy(ops.cast(np.random.default_rng(0).uniform(0.5, 1.5, (512, 8, 4)), dtype)).astype("float32")
    layer = Dense(4, activation=activation, dtype=f"mixed_{dtype}")
    layer.build(inputs.shape)
    found = weight_gradients(layer, upstream, {"inputs": inputs}, training=True)["bias"]
    np.testing.assert_allclose(found, upstream.sum((0, 1)), rtol=1e-2)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("use_bias", [True, False])
def test_dense_is_that_of_keras(dtype, use_bias):
    inputs, upstream = normal(2, 3, 5), normal(2, 3, 4, seed=1)
    options = {"use_bias": use_bias, "activation": "tanh", "dtype": dtype, "bias_initializer": "ones"}
    keras.utils.set_random_seed(0)
    ours, theirs = Dense(4, **options), keras.layers.Dense(4, **options)
    ours.build(inputs.shape), theirs.build(inputs.shape)
    theirs.set_weights(ours.get_weights())
    for training in (False, True):
        np.testing.assert_array_equal(
            to_numpy(ours(inputs, training=training)), to_numpy(theirs(inputs, training=training))
        )
        found, expected = (
            weight_gradients(layer, upstream, {"inputs": inputs}, training=training) for layer in (ours, theirs)
        )
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], **tolerance(dtype.removeprefix("mixed_")))
    again = Dense.from_config(ours.get_config())
    assert (again.units, again.use_bias) == (4, use_bias)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 0, 4), (2, 1, 3, 4)])
def test_biases_of_any_number_of_rows(shape):
    x, bias = (ops.cast(array, "bfloat16") for array in (np.zeros(shape), np.arange(4)))
    np.testing.assert_array_equal(to_numpy(add_bias(x, bias)), np.broadcast_to(np.arange(4.0), shape))
    of_x, of_bias = gradients(add_bias, x, bias)
    assert of_x.shape == shape
    np.testing.assert_array_equal(of_bias, np.full(4, np.prod(shape[:-1])))


@pytest.mark.parametrize("mode", ["int8", "float8"])
def test_it_is_quantized_as_that_of_keras(mode):
    model = keras.Sequential([keras.Input((8,)), Dense(4)])
    model.quantize(mode)
    assert model.layers[0].quantization_mode == mode

    class Other(Dense):
        pass

    with pytest.raises(NotImplementedError):
        keras.Sequential([keras.Input((8,)), Other(4)]).layers[0].quantize(mode)


def test_whether_it_learns_may_be_known_in_the_graph_only():
    layer = Dense(3)
    layer.build((None, 4))
    found = layer(np.ones((2, 4), "float32"), training=ops.convert_to_tensor(True))
    np.testing.assert_array_equal(to_numpy(found), to_numpy(layer(np.ones((2, 4), "float32"))))
