"""Layers as graphs."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from keras import layers
from keras.src.random.seed_generator import global_seed_generator

from keras_transformers.analysis.cost.traced import ancestors, build_shapes, shapes_only, trace
from keras_transformers.layers import Attention


def test_inputs_come_before_weights():
    body = trace(layers.Dense(3), {"b": keras.KerasTensor((1, 2))}["b"])
    assert [tuple(tensor.shape) for tensor in body.graph.inputs] == [(1, 2), (2, 3), (3,)]


def test_a_built_layer_keeps_its_weights():
    layer = layers.Dense(3)
    layer(np.zeros((1, 2)))
    before = layer.get_weights()
    body = trace(layer, keras.KerasTensor((4, 2)))
    assert tuple(body.graph.outputs[0].shape) == (4, 3)
    for old, new in zip(before, layer.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.fixture
def policy():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    yield "mixed_bfloat16"
    keras.config.set_dtype_policy(before)


def test_shapes_without_values_take_no_memory_later_either():
    layer = layers.Dense(10**6)
    build_shapes(layer, keras.KerasTensor((1, 10**6)))
    assert layer.kernel.shape == (10**6, 10**6)
    with keras.StatelessScope():  # at its end Keras gives values to all weights that have none
        waiting = layers.Dense(2)
        waiting.build((1, 2))
    assert waiting.get_weights()[0].shape == (2, 2)


def test_settings_of_the_user_stay(policy):
    layer = layers.Dense(2)
    state = global_seed_generator().state
    before = np.array(state)
    trace(layer, keras.KerasTensor((1, 3)))
    assert global_seed_generator().state is state
    np.testing.assert_array_equal(np.array(state), before)
    model = shapes_only(lambda: keras.Sequential([keras.Input((3,)), layers.Dense(2)]))
    assert model.layers[0].dtype_policy.name == keras.config.dtype_policy().name == policy


def test_errors_of_a_layer_are_its_own():
    with pytest.raises(ValueError, match="must be divisible by num_heads=3"):
        trace(Attention(3), keras.KerasTensor((1, 5, 8)))


def test_dead_operations_are_left_out():
    """Keras traces the first step of a recurrent layer before its loop, and uses its shape only."""
    body = trace(layers.SimpleRNN(3, return_sequences=True), keras.KerasTensor((1, 5, 2)))
    everything = [operation.type for operation in body.graph.get_operations()]
    assert "MatMul" in everything
    assert "MatMul" not in [operation.type for operation in body.operations]
    assert ancestors(body.graph.outputs) >= {operation.name for operation in body.operations}
