"""Freezing by pattern."""

import keras
import numpy as np
import pytest

from keras_transformers.training.freeze import freeze


def model():
    inputs = hidden = keras.Input((2,))
    for i in range(3):
        hidden = keras.layers.Dense(2, name=f"encoder_block_{i}")(hidden)
    return keras.Model(inputs, keras.layers.Dense(1, name="classifier")(hidden))


def test_frozen_variables_do_not_move_even_if_compiled_before():
    frozen = model()
    frozen.compile("sgd", "mse", jit_compile=False)
    x, y = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
    before = [v.numpy() for v in frozen.weights]
    paths = freeze(frozen, ["encoder_block_[01]/*", "classifier/bias"])
    assert len(paths) == 5 and not frozen.get_layer("encoder_block_0").trainable
    frozen.fit(x, y, verbose=0)
    for variable, value in zip(frozen.weights, before, strict=True):
        assert (np.array_equal(variable.numpy(), value)) == (variable.path in paths), variable.path


def test_whole_layers_stay_frozen_in_a_saved_model(tmp_path):
    frozen = model()
    freeze(frozen, "encoder_block_*")
    frozen.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert [v.path for v in loaded.trainable_variables] == ["classifier/kernel", "classifier/bias"]


def test_a_pattern_that_matches_nothing_names_what_is_near():
    frozen = model()
    with pytest.raises(ValueError, match=r"'encoder_blok_1/\*'.*near are \['encoder_block_"):
        freeze(frozen, ["classifier/*", "encoder_blok_1/*"])
    assert len(frozen.trainable_variables) == 8  # nothing half-frozen


def test_a_trained_model_wants_a_new_optimizer():
    trained = model()
    trained.compile("sgd", "mse")
    trained.optimizer.build(trained.trainable_variables)
    with pytest.raises(ValueError, match="has been trained; call compile"):
        freeze(trained, "classifier/*")


def test_five_of_the_names_that_are_near_are_enough():
    inputs = keras.Input((2,))
    wide = keras.Model(inputs, [keras.layers.Dense(2, name=f"block_{i}")(inputs) for i in range(7)])
    with pytest.raises(ValueError, match=r"near are \[('block_\d'(, )?){5}\]"):
        freeze(wide, "blok/*")
