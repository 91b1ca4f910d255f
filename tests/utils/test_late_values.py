"""Values that come late are those that would have come at first, and nothing is left behind."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_transformers.utils import keras_private
from keras_transformers.utils.late_values import building, late_values


def build() -> keras.Model:
    """A model with new weights and a seed of dropout."""
    with building():
        inputs = keras.Input((3,))
        outputs = keras.layers.Dropout(0.5)(keras.layers.Dense(4, kernel_initializer="glorot_uniform")(inputs))
        return keras.Model(inputs, keras.layers.Dense(2)(outputs))


def values(model: keras.Model) -> list[np.ndarray]:
    return [keras.ops.convert_to_numpy(variable) for variable in model.variables]


def test_values_without_a_file_are_those_of_the_seed():
    keras.utils.set_random_seed(3)
    first = build()
    keras.utils.set_random_seed(3)
    with late_values():
        second = build()
    assert len(second.variables) == 5
    for one, other in zip(values(first), values(second), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.integration
def test_the_model_trains_and_is_saved(tmp_path):
    with late_values():
        model = build()
        keras_private.set_value(model.layers[1].kernel, np.ones((3, 4)))
    np.testing.assert_array_equal(model.layers[1].kernel, np.ones((3, 4)))
    model.compile("sgd", "mse", jit_compile=False)
    data = np.ones((2, 3), "float32")
    model.fit(data, np.ones((2, 2)), verbose=0)
    model.save(tmp_path / "model.keras")
    np.testing.assert_allclose(keras.saving.load_model(tmp_path / "model.keras")(data), model(data), atol=1e-6)


def test_outside_nothing_changes():
    model = build()
    with late_values():
        pass
    assert all(value.shape for value in values(model))


def test_after_an_error_no_later_scope_finds_variables():
    with pytest.raises(ZeroDivisionError), late_values(), building():
        keras.layers.Dense(2).build((None, 3))
        raise ZeroDivisionError
    with keras.StatelessScope():  # at its end Keras initialises what it knows to be without values
        pass
    assert values(build())[0].shape == (3, 4)
