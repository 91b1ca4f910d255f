"""The average of saved weights."""

import os

import keras
import numpy as np
import pytest

from keras_transformers.training.averaging import average_weights, newest


def saved(folder, values):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    for number, value in enumerate(values):
        model.set_weights([np.full(w.shape, value, "float32") for w in model.get_weights()])
        path = folder / f"{9 - number}.weights.h5"
        model.save_weights(path)
        os.utime(path, (number, number))
    return model


def test_average_of_the_newest_in_float64(tmp_path):
    model = saved(tmp_path, [5.0, 1.0, 2**-24, 2**-24])
    paths = newest(tmp_path, 3)
    assert [p.name[0] for p in paths] == ["8", "7", "6"]
    average_weights(model, paths)
    expected = np.float32((1 + 2**-23) / 3)  # in float32, 1 + 2**-24 is 1
    assert all((w == expected).all() for w in model.get_weights())


def test_a_file_of_another_model_changes_nothing(tmp_path):
    model = saved(tmp_path, [1.0])
    other = keras.Sequential([keras.Input((2,)), keras.layers.Dense(4)])
    other.save_weights(tmp_path / "other.weights.h5")
    model.set_weights([w + 1 for w in model.get_weights()])
    with pytest.raises(ValueError):
        average_weights(model, [tmp_path / "9.weights.h5", tmp_path / "other.weights.h5"])
    assert all((w == 2.0).all() for w in model.get_weights())


def test_too_few_files(tmp_path):
    model = saved(tmp_path, [1.0])
    with pytest.raises(ValueError, match=r"count=2 .* holds 1 files"):
        newest(tmp_path, 2)
    with pytest.raises(ValueError, match="no paths"):
        average_weights(model, [])
