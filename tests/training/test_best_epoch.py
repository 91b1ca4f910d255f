"""The best epoch: which one, its weights at the end, and a run that was interrupted."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tiny

from keras_transformers.training.best_epoch import BestEpoch


class Weights(keras.callbacks.Callback):
    """Keeps the weights of each epoch, and says what validation is to have measured."""

    def __init__(self, values):
        super().__init__()
        self.values, self.of_epochs = values, []

    def on_epoch_end(self, epoch, logs=None):
        logs["val_score"] = self.values[epoch]
        self.of_epochs.append(self.model.get_weights()[0])


def fitted(values, direction="up", **options):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    weights, best = Weights(values), BestEpoch("val_score", direction)
    data = np.ones((2, 1))
    model.fit(data, data, epochs=len(values), verbose=0, callbacks=[weights, best], **options)
    return model.get_weights()[0], weights.of_epochs, best


@pytest.mark.integration
@pytest.mark.parametrize(
    ("values", "direction", "expected"),
    [
        ([0.1, 0.5, 0.3], "up", 1),
        ([0.5, 0.5, 0.3], "up", 1),  # of equally good ones, the last
        ([0.1, 0.5, 0.3], "down", 0),
        ([float("nan"), 0.2, float("nan")], "up", 1),
        ([float("nan"), 0.2, 0.1], "down", 2),
        ([0.1, 0.2, 0.3], "up", 2),
    ],
)
def test_the_best_epoch_is_kept(values, direction, expected):
    kept, of_epochs, best = fitted(values, direction)
    assert best.best_epoch == expected
    np.testing.assert_array_equal(kept, of_epochs[expected])
    assert sum(np.array_equal(kept, other) for other in of_epochs) == 1


def test_an_epoch_that_has_diverged_is_not_kept():
    """Whatever it answers: an accuracy may stay, that of the answer 0 for every text."""
    best = BestEpoch("val_accuracy", "up")
    best.set_model(keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]))
    for epoch, loss in enumerate([0.5, float("nan"), float("inf")]):
        best.on_epoch_end(epoch, {"loss": loss, "val_loss": 0.5, "val_accuracy": 0.3})
    assert best.best_epoch == 0


def test_what_is_refused():
    with pytest.raises(ValueError, match="direction='sideways'; expected one of"):
        BestEpoch("val_loss", "sideways")
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    with pytest.raises(ValueError, match="val_loss is not measured in this fit, which has"):
        model.fit(np.ones((2, 1)), np.ones((2, 1)), verbose=0, callbacks=[BestEpoch("val_loss", "down")])


class Stop(keras.callbacks.Callback):
    """An interruption in the second batch of an epoch."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch, self.now = epoch, None

    def on_epoch_begin(self, epoch, logs=None):
        self.now = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if (self.now, batch) == (self.epoch, 1):
            raise KeyboardInterrupt


@pytest.mark.integration
def test_a_run_that_is_resumed_keeps_the_best_epoch_of_before(tmp_path):
    def run(epoch):
        task = tiny.classifier(dtype="mixed_bfloat16")
        callbacks = [Weights([0.9, 0.1, 0.2]), BestEpoch("val_score", "up"), Stop(epoch)]
        options = {"epochs": 3, "batch_size": 16, "learning_rate": 1e-2, "verbose": 0, "resume": tmp_path, **tiny.EAGER}
        task.fit(tiny.TEXTS, tiny.LABELS, callbacks=callbacks, **options)
        return task, callbacks

    with pytest.raises(KeyboardInterrupt):
        run(epoch=1)
    task, (weights, best, _) = run(epoch=None)
    assert (best.best_epoch, best.best, len(weights.of_epochs)) == (0, 0.9, 2)
    kept = task.model.get_weights()[0]
    assert all(np.abs(kept - other).max() > 0 for other in weights.of_epochs)
    task, (_, best, _) = run(epoch=None)  # nothing is left to learn
    np.testing.assert_array_equal(task.model.get_weights()[0], kept)
    assert best.best_epoch == 0
