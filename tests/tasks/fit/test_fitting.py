"""What `fit` makes of epochs, steps and the rate."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tiny
from tiny import EAGER, LABELS, TEXTS

from keras_transformers.tasks.fit.fit_options import fit_callbacks

FEW = {"batch_size": 4, "verbose": 0} | EAGER


class Steps(keras.callbacks.Callback):
    """The number of steps of each epoch, and the rates."""

    def __init__(self):
        super().__init__()
        self.steps, self.rates = [], []

    def on_epoch_begin(self, epoch, logs=None):
        self.steps.append(0)

    def on_train_batch_begin(self, batch, logs=None):
        self.steps[-1] += 1
        self.rates.append(float(self.model.optimizer.learning_rate))


@pytest.fixture(scope="module")
def task():
    return tiny.classifier()


def fit(task, rows=12, **options):
    steps = Steps()
    task.fit(TEXTS[:rows], LABELS[:rows], callbacks=steps, **(FEW | options))
    return steps


@pytest.mark.integration
@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({"epochs": 2}, [3, 3]),
        ({"epochs": 3, "steps_per_epoch": 2}, [2, 2, 2]),
        ({"epochs": 2, "steps_per_epoch": np.int64(5)}, [5, 5]),
        ({"epochs": 1, "steps_per_epoch": 3}, [3]),
        ({"epochs": 3, "initial_epoch": 2}, [3]),
        ({"epochs": 0}, []),
    ],
    ids=str,
)
def test_the_rate_ends_with_the_last_step(task, options, steps):
    found = fit(task, learning_rate=1.0, warmup=0, weight_decay=0.0, **options)
    total = sum(steps)
    assert found.steps == steps
    np.testing.assert_allclose(found.rates, [(total - step) / (total + 1) for step in range(total)], rtol=1e-5)


@pytest.mark.integration
def test_a_schedule_of_keras_stands_for_ours(task):
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([1], [1e-3, 1e-4])
    assert fit(task, epochs=1, learning_rate=schedule).rates == pytest.approx([1e-3, 1e-3, 1e-4])


@pytest.mark.integration
def test_texts_may_stay_in_order():
    def trained(**options):
        task = tiny.classifier()
        task.fit(TEXTS[:12], LABELS[:12], epochs=1, learning_rate=1e-2, **(FEW | options))
        return np.concatenate([array.ravel() for array in tiny.weights(task)])

    in_order = trained(shuffle=False)
    np.testing.assert_array_equal(in_order, trained(dataset_options={"shuffle": False}))
    assert np.abs(in_order - trained(shuffle=True)).max() > 1e-4


@pytest.mark.integration
def test_a_few_steps_of_validation_read_the_first_texts():
    task = tiny.classifier()
    texts, labels = ["a fine film", "a dull day", "a fine film and a dull day and a song"], [1, 0, 0]
    settings = FEW | {"epochs": 2, "batch_size": 1, "validation_data": (texts, labels)}
    history = task.fit(texts, labels, validation_steps=2, validation_batch_size=1, **settings).history
    expected = task.evaluate(texts[:2], labels[:2])["cross_entropy"]
    assert history["val_cross_entropy"][-1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.integration
def test_numbers_of_numpy_are_numbers():
    task, held_out = tiny.classifier(), (["a fine film"], [1])
    numbers = {"validation_freq": np.int64(2), "initial_epoch": np.int32(0), "steps_per_epoch": np.int64(1)}
    history = task.fit(
        ["a fine film", "a dull day"], [1, 0], **FEW | {"epochs": 2}, validation_data=held_out, **numbers
    )
    assert len(history.history["val_cross_entropy"]) == 1


@pytest.mark.integration
def test_long_epochs_have_the_passes_of_short_ones():
    def trained(**options):
        task = tiny.classifier()
        fit(task, learning_rate=1e-2, **options)
        return np.concatenate([array.ravel() for array in tiny.weights(task)])

    np.testing.assert_allclose(trained(epochs=4), trained(epochs=2, steps_per_epoch=6), atol=1e-6)


def test_passes_that_do_not_end_with_epochs_are_left_alone():
    assert fit_callbacks(None, [], None) == []
    assert len(fit_callbacks(object(), [], None)) == 1


@pytest.mark.integration
def test_steps_of_a_run_that_is_resumed(task, tmp_path):
    with pytest.raises(ValueError, match="no steps_per_epoch"):
        fit(task, epochs=1, steps_per_epoch=2, resume=tmp_path)
