"""What `fit` is given besides its texts: right, or refused before the model is compiled anew."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tiny
from keras import callbacks
from tiny import EAGER, LABELS, TEXTS

from keras_transformers.tasks.fit.fit_options import check_rate_is_free, read_callbacks
from keras_transformers.training.averaging import AverageEpochs

SCHEDULE = keras.optimizers.schedules.CosineDecay(1e-3, 10)
FEW = {"epochs": 1, "batch_size": 4, "verbose": 0} | EAGER


@pytest.fixture(scope="module")
def task():
    return tiny.classifier()


REFUSED = [
    ({"epochs": 2.0}, "epochs must be a whole number: received 2.0"),
    ({"epochs": "2"}, "epochs must be a whole number: received '2'"),
    ({"epochs": True}, "epochs must be a whole number: received True"),
    ({"epochs": -1}, "epochs must be a whole number: received -1"),
    ({"batch_size": 8.0}, r"batch_size=8\.0: expected a whole number of at least 1"),
    ({"batch_size": 0}, "batch_size=0: expected"),
    ({"batch_size": True}, "batch_size=True: expected"),
    ({"batch_size": "8"}, "batch_size='8': expected"),
    ({"dataset_options": {"batch_size": 8.0}}, r"batch_size=8\.0: expected"),
    ({"accumulation_steps": 2.0}, r"accumulation_steps=2\.0: expected"),
    ({"seed": "1"}, "seed='1': expected a whole number of at least 0"),
    ({"shuffle": "batch"}, "shuffle must be True or False: received 'batch'"),
    ({"steps_per_epoch": 0}, "steps_per_epoch must be a whole number, at least 1, or None: received 0"),
    ({"steps_per_epoch": 1.0}, "steps_per_epoch must be a whole number"),
    ({"validation_steps": "1"}, "validation_steps must be a whole number"),
    ({"validation_freq": 0}, "validation_freq must be a whole number of epochs"),
    ({"validation_freq": []}, "validation_freq must be a whole number of epochs"),
    ({"initial_epoch": -1}, "initial_epoch must be a whole number, from 0 to epochs=1"),
    ({"initial_epoch": 2}, "the number of the last one: received 2"),
    ({"verbose": "0"}, "verbose must be one of .*received '0'"),
    ({"verbose": 3}, "verbose must be one of .*received 3"),
    ({"verbose": np.zeros(2)}, "verbose must be one of"),
    ({"y": LABELS}, "fit has no argument 'y': received one. Expected labels"),
    ({"x": TEXTS}, "fit has no argument 'x': received one. Expected texts"),
    ({"metrics": ["mse"]}, r"no argument 'metrics': received one. Expected compile_options=\{'metrics': ...\}"),
    ({"optimizer": "adam"}, "fit uses AdamW. For another optimizer, call task.compile"),
    ({"workers": 2}, "fit has no argument 'workers': received one. Of Keras' fit, it takes"),
    ({"learning_rate": "1e-3"}, "learning_rate must be a positive number.*received '1e-3'"),
    ({"learning_rate": -1e-3}, "learning_rate must be a positive number.*received -0.001"),
    ({"learning_rate": 0}, "learning_rate must be a positive number.*received 0"),
    ({"learning_rate": float("nan")}, "learning_rate must be a positive number.*received nan"),
    ({"learning_rate": True, "schedule": "constant"}, "learning_rate must be a positive number.*received True"),
    ({"learning_rate": np.ones(1)}, "learning_rate must be a positive number"),
    ({"learning_rate": lambda: 1e-3}, "learning_rate must be a positive number"),
    ({"learning_rate": SCHEDULE, "schedule": "cosine"}, "schedule='cosine', and a schedule as learning_rate"),
    ({"schedule": SCHEDULE}, "A schedule of Keras is given as learning_rate"),
    ({"warmup": "0.1"}, "warmup must be a fraction of the steps.*received '0.1'"),
    ({"weight_decay": "0.01"}, "weight_decay='0.01'; expected a number from 0 on"),
    ({"weight_decay": float("nan")}, "weight_decay=nan; expected"),
    ({"weight_decay": None}, "weight_decay=None; expected"),
    ({"clip_norm": "1"}, "clip_norm='1'; expected a positive number"),
    ({"ema_momentum": 1}, r"ema_momentum=1; expected a number in \[0, 1\)"),
    ({"resume": ""}, "folder=''; expected the path of a folder"),
    ({"resume": 5}, "folder=5; expected the path of a folder"),
    ({"dataset_options": {"nope": 1}}, "dataset has no setting nope; for classification it has accumulation_steps"),
    ({"dataset_options": {"buckets": "16"}}, "expected lengths in tokens"),
    ({"dataset_options": {"shuffle": "False"}}, "shuffle='False': expected True or False"),
    ({"dataset_options": []}, r"dataset_options must be a dict of names and values: received \[\]"),
    ({"optimizer_options": {"learning_rate": 1}}, "optimizer_options has no .'learning_rate'.*Of fit itself are"),
    ({"optimizer_options": {"beta_2": "x"}}, "beta_2='x'; expected"),
    ({"beta_1": "x"}, "beta_1='x'; expected"),
    ({"beta_2": 0.9, "optimizer_options": {"beta_2": 0.98}}, r"received \['beta_2'\] twice"),
    ({"clipnorm": 1.0}, "no argument 'clipnorm': received one. The nearest name is 'clip_norm'"),
    ({"compile_options": {"nope": 1}}, "compile_options has no .'nope'.; it has"),
    ({"compile_options": {"optimizer": "sgd"}}, "fit uses AdamW"),
    ({"callbacks": callbacks.EarlyStopping}, r"the class EarlyStopping: expected an object, EarlyStopping\(\)"),
    ({"callbacks": [callbacks.EarlyStopping]}, "callbacks has the class EarlyStopping"),
    ({"callbacks": "early"}, "callbacks must be a list of keras.callbacks.Callback: received 'early'"),
    ({"callbacks": [None]}, "callbacks must be a list of keras.callbacks.Callback: received None"),
    ({"callbacks": 5}, "callbacks must be a list of keras.callbacks.Callback: received 5"),
    (
        {"callbacks": callbacks.ReduceLROnPlateau()},
        "the callback ReduceLROnPlateau, which sets it. Expected a",
    ),
    ({"callbacks": [callbacks.LearningRateScheduler(float)]}, "LearningRateScheduler, which sets it"),
    ({"callbacks": callbacks.ReduceLROnPlateau(), "learning_rate": SCHEDULE}, "which sets it"),
]


@pytest.mark.parametrize(
    ("options", "message"), REFUSED, ids=lambda value: value[:50] if isinstance(value, str) else ", ".join(value)
)
def test_what_makes_no_sense_is_refused_before_anything_changes(task, options, message):
    before, weights = task.model.optimizer, tiny.weights(task)
    with pytest.raises(ValueError, match=message):
        task.fit(TEXTS, LABELS, **(FEW | options))
    assert task.model.optimizer is before
    assert all(map(np.array_equal, weights, tiny.weights(task)))


@pytest.mark.integration
def test_there_must_be_texts(task):
    with pytest.raises(ValueError, match="no argument 'x': received one"):
        task.fit(x=TEXTS, y=LABELS)
    for ask in (task.fit, task.evaluate, task.dataset, tiny.pretraining().evaluate):
        with pytest.raises(ValueError, match="expected texts, and what belongs to them: received None"):
            ask(None)
    for ask in (task.fit, task.evaluate, task.dataset):
        with pytest.raises(ValueError, match="received a data set of batches"):
            ask(task.dataset(TEXTS, LABELS))


def test_evaluate_refuses_the_same(task):
    for options, message in (
        ({"batch_size": 8.0}, r"batch_size=8\.0: expected a whole number of at least 1"),
        ({"verbose": "1"}, "verbose must be one of"),
        ({"dataset_options": "x"}, "dataset_options must be a dict of names and values: received 'x'"),
        ({"dataset_options": {"nope": 1}}, "dataset has no setting nope"),
    ):
        with pytest.raises(ValueError, match=message):
            task.evaluate(TEXTS, LABELS, **options)


@pytest.mark.integration
def test_numbers_of_numpy_are_numbers(task):
    numbers = {"batch_size": np.int64(4), "epochs": np.int64(1), "seed": np.int64(3), "learning_rate": np.float32(1e-3)}
    numbers |= {"warmup": np.float64(0.5), "weight_decay": np.float32(0.1), "accumulation_steps": np.int32(1)}
    assert len(task.fit(TEXTS, np.array(LABELS), **(FEW | numbers)).history["loss"]) == 1


class Sets(callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self._halve()

    def _halve(self):
        self.model.optimizer.learning_rate = 1e-4


class Assigns(callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        optimizer = self.model.optimizer
        optimizer.learning_rate.assign(1e-4)


class Reads(callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        learning_rate = float(self.model.optimizer.learning_rate)
        self.learning_rate = learning_rate + 3 * learning_rate if () else None


def test_who_sets_the_rate():
    told = {}
    setting = [callbacks.ReduceLROnPlateau(), callbacks.LearningRateScheduler(float), Sets(), Assigns()]
    setting += [callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: told.optimizer.learning_rate.assign(1.0))]
    for callback in setting:
        check_rate_is_free(1e-3, [callback])
        with pytest.raises(ValueError, match="which sets it"):
            check_rate_is_free(SCHEDULE, [callback])
    names = ("EarlyStopping", "ProgbarLogger", "TerminateOnNaN", "History", "TensorBoard", "LambdaCallback")
    check_rate_is_free(SCHEDULE, [Reads(), *(getattr(callbacks, name)() for name in names)])


def test_forms_of_callbacks():
    one, other = callbacks.TerminateOnNaN(), callbacks.EarlyStopping(monitor="loss")
    forms = [[one, other], (one, other), iter([one, other]), [one, [other]], callbacks.CallbackList([one, other])]
    assert all(read_callbacks(form)[:2] == [one, other] for form in forms)
    assert read_callbacks(one) == [one]
    assert read_callbacks(None) == read_callbacks([]) == read_callbacks(()) == []


class Calls(callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.epochs = []

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(epoch)


@pytest.mark.integration
def test_all_callbacks_of_an_iterator_are_called(task, tmp_path):
    calls = Calls()
    task.fit(TEXTS[:4], LABELS[:4], callbacks=iter([calls, AverageEpochs(str(tmp_path), 1)]), **FEW)
    assert calls.epochs == [0]


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_a_constant_rate_may_be_set(dtype):
    task = tiny.classifier(dtype=dtype)
    plateau = callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=0, min_delta=10.0)
    fit = FEW | {"epochs": 3, "learning_rate": 1e-3, "schedule": "constant"}
    rates = task.fit(TEXTS[:4], LABELS[:4], callbacks=plateau, **fit).history["learning_rate"]
    np.testing.assert_allclose(rates, [1e-3, 1e-3, 5e-4], rtol=1e-5)  # as it was before the end of each epoch
    plateau = callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=0, min_delta=10.0)
    task.compile(run_eagerly=True)
    history = task.model.fit(task.dataset(TEXTS[:4], LABELS[:4]), callbacks=[plateau], epochs=2, verbose=0).history
    assert len(history["learning_rate"]) == 2 and float(task.model.optimizer.learning_rate) == pytest.approx(2.5e-5)


@pytest.mark.integration
def test_a_rate_that_is_set_unseen_is_refused_in_our_words(task):
    def unseen(epoch, logs):
        setattr(task.model.optimizer, "learning_rate", 1e-4)  # noqa: B010 (it must not be seen)

    with pytest.raises(ValueError, match=r"follows a schedule.*received 0\.0001 for it"):
        task.fit(TEXTS[:4], LABELS[:4], callbacks=callbacks.LambdaCallback(on_epoch_begin=unseen), **FEW)
