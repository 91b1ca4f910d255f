"""The average of saved weights."""

import os

import keras
import numpy as np
import pytest

from keras_transformers.data.batches.pipeline import batches
from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows
from keras_transformers.training.averaging import AverageEpochs, average_weights
from keras_transformers.training.losses.target_losses import CrossEntropy
from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.resuming.resume import Resume


def saved(folder, values):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    for number, value in enumerate(values):
        model.set_weights([np.full(w.shape, value, "float32") for w in model.get_weights()])
        path = folder / f"{9 - number}.weights.h5"
        model.save_weights(path)
        os.utime(path, (number, number))
    return model


def test_average_in_float64(tmp_path):
    model = saved(tmp_path, [5.0, 1.0, 2**-24, 2**-24])
    average_weights(model, [tmp_path / f"{number}.weights.h5" for number in (8, 7, 6)])
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


@pytest.mark.integration
def test_the_optimizer_goes_on_from_where_it_is(tmp_path):
    """The files of a compiled model hold its optimizer's state, too."""
    model = saved(tmp_path, [1.0])
    model.compile("adam", "mse")
    x, y = np.ones((4, 2)), np.ones((4, 3))
    for epoch in range(2):
        model.fit(x, y, epochs=1, verbose=0)
        model.save_weights(tmp_path / f"{epoch}.weights.h5")
    model.fit(x, y, epochs=3, verbose=0)
    before = [np.array(variable) for variable in model.optimizer.variables]
    average_weights(model, [tmp_path / "0.weights.h5", tmp_path / "1.weights.h5"])
    assert model.optimizer.iterations == 5
    for old, variable in zip(before, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(variable, old)


def test_no_files(tmp_path):
    model = saved(tmp_path, [1.0])
    with pytest.raises(ValueError, match="no paths"):
        average_weights(model, [])


class Weights(keras.callbacks.Callback):
    """Notes the weights after each epoch; breaks off at a batch by an exception."""

    def __init__(self, break_at=None):
        super().__init__()
        self.epochs, self.break_at = {}, break_at

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if (self.epoch, batch) == self.break_at:
            raise KeyboardInterrupt

    def on_epoch_end(self, epoch, logs=None):
        self.epochs[epoch] = self.model.get_weights()


def fit(folder, epochs, break_at=None):
    keras.utils.set_random_seed(0)
    rows = Rows.of([[5 + i % 5] * (5 + i % 2 * 5) for i in range(8)], None, labels=[0, 1] * 4)
    # By token count, with accumulation: 2 batches of 2 shorter rows and 2 of 2 longer ones.
    data = batches(rows, Classification(2), batch_tokens=20, max_length=10, accumulation_steps=2)
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in ("token_ids", "padding_mask")}
    hidden = keras.layers.Embedding(10, 4)(inputs["token_ids"])
    hidden = keras.layers.GlobalAveragePooling1D()(hidden, mask=inputs["padding_mask"])
    model = keras.Model(inputs, keras.layers.Dense(2)(hidden))
    model.compile(AdamW(0.05, accumulation_steps=2), CrossEntropy(), jit_compile=False)
    noted, average = Weights(break_at), AverageEpochs(folder / "epochs", 3)
    callbacks = [noted, Resume(folder / "run", data, every=2), average]
    try:
        model.fit(data, epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)
    except KeyboardInterrupt:
        return None
    return model.get_weights(), noted.epochs, average.files()


def assert_equal(weights, others):
    for one, other in zip(weights, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


@pytest.mark.integration
def test_fit_ends_with_the_mean_of_the_last_epochs(tmp_path):
    weights, epochs, files = fit(tmp_path, epochs=5)
    assert_equal(weights, [np.mean(w, axis=0) for w in zip(*(epochs[e] for e in (2, 3, 4)), strict=True)])
    assert [file.name[6:11] for file in files] == ["00002", "00003", "00004"]
    assert sorted(path.name for path in (tmp_path / "epochs").iterdir()) == [file.name for file in files]
    again, none, _ = fit(tmp_path, epochs=5)
    assert none == {}
    assert_equal(again, weights)


@pytest.mark.integration
def test_a_broken_run_ends_with_the_mean_of_an_unbroken_one(tmp_path):
    expected, _, _ = fit(tmp_path / "whole", epochs=5)
    assert fit(tmp_path / "run", 5, break_at=(3, 3)) is None
    found, epochs, _ = fit(tmp_path / "run", epochs=5)
    assert list(epochs) == [3, 4]
    assert_equal(found, expected)


@pytest.mark.integration
def test_more_epochs_go_on_from_the_weights_as_trained(tmp_path):
    expected, _, _ = fit(tmp_path / "whole", epochs=6)
    fit(tmp_path / "run", epochs=4)
    found, _, _ = fit(tmp_path / "run", epochs=6)
    assert_equal(found, expected)


@pytest.mark.integration
def test_files_of_another_run_are_not_averaged(tmp_path):
    fit(tmp_path, epochs=6)
    for state in (tmp_path / "run").iterdir():
        state.unlink()
    _, _, files = fit(tmp_path, epochs=4)
    assert [file.name[6:11] for file in files] == ["00001", "00002", "00003"]


def test_more_epochs_to_average_than_to_train(tmp_path):
    with pytest.raises(ValueError, match="count=3 in a fit of 2 epochs"):
        fit(tmp_path, epochs=2)
    with pytest.raises(ValueError, match="count=0"):
        AverageEpochs(tmp_path, 0)
