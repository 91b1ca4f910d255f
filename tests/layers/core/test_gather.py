from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from gradients import gradients
from keras import ops

from keras_transformers.layers.core.gather import GatherTokens, take_at

SHAPES = [(3, 5, 4), (1, 1, 1)]
if keras.backend.backend() == "tensorflow":  # JAX gathers nothing from no rows
    SHAPES.append((0, 5, 4))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [0, 1, 7])
def test_it_is_take_along_axis(shape, count, dtype):
    states = ops.cast(normal(*shape), dtype)
    positions = np.random.default_rng(0).integers(0, shape[1], (shape[0], count)).astype("int32")
    gather = GatherTokens(dtype=dtype)

    def found(states):
        return gather(states, positions=positions)

    expected = np.zeros(shape)
    np.add.at(expected, (np.arange(shape[0])[:, None], positions), 1.0)
    np.testing.assert_array_equal(
        to_numpy(found(states)), np.take_along_axis(to_numpy(states), positions[..., None], axis=1)
    )
    np.testing.assert_array_equal(gradients(found, states)[0], expected)


@pytest.mark.parametrize("integers", ["int32", "int64", "uint8"])
def test_in_a_model_of_open_sizes(integers):
    states, positions = keras.Input((None, 4)), keras.Input((None,), dtype=integers)
    model = keras.Model([states, positions], GatherTokens()(states, positions=positions))
    assert model.output_shape == (None, None, 4)
    for rows, length in ((2, 3), (1, 6)):
        x, places = normal(rows, length, 4), np.array([[length - 1, 0]] * rows)
        np.testing.assert_array_equal(to_numpy(model([x, places])), x[:, [length - 1, 0]])


def test_rows_of_numbers_and_of_matrices():
    for shape in ((2, 5), (2, 5, 3, 4)):
        values, positions = normal(*shape), np.array([[4, 0, 4], [1, 1, 2]], "int32")
        np.testing.assert_array_equal(
            to_numpy(take_at(values, positions)), [values[0, positions[0]], values[1, positions[1]]]
        )
