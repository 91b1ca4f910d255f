"""Logs after a batch: read when a callback asks for them, and the same numbers then."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest
from processes import run_on_jax

from keras_transformers.tasks.fit import late_logs
from keras_transformers.tasks.fit.late_logs import LateCallbacks, LateLogs


class Waiting:
    """A number that counts how often it is waited for."""

    def __init__(self):
        self.reads = 0

    def __float__(self):
        self.reads += 1
        return 0.5


def test_a_callback_that_reads_nothing_waits_for_nothing():
    loss, batches, kept = Waiting(), [], []
    one = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: batches.append(batch))
    one.on_test_batch_end = lambda batch, logs: kept.append(logs)
    callbacks = LateCallbacks([one])
    for batch in range(3):
        callbacks.on_train_batch_end(batch, {"loss": loss})
        callbacks.on_test_batch_end(batch, {"loss": loss})
    assert batches == [0, 1, 2] and loss.reads == 0
    assert kept[0]["loss"] == 0.5 and loss.reads == 1


def test_logs_are_a_dict_of_floats():
    logs = LateLogs(loss=Waiting(), per_class=np.array([1.0, 2.0]))
    assert logs and logs.keys() == {"loss", "per_class"} and logs.get("f1", 3) == 3
    assert dict(logs.items())["loss"] == logs["loss"] == logs.get("loss") == next(iter(logs.values())) == 0.5
    assert logs.copy()["per_class"].tolist() == [1, 2]
    assert json.dumps(logs["loss"]) == "0.5"


def test_copies_of_logs_are_read():
    """Python copies a dict without its `__getitem__`, unless it has an `__iter__` of its own."""

    def logs():
        return LateLogs(loss=Waiting())

    updated = {}
    updated.update(logs())
    for copied in ({**logs()}, dict(logs()), logs() | {}, updated):
        assert json.dumps(copied) == '{"loss": 0.5}'
    assert logs().pop("loss") == logs().setdefault("loss", 1.0) == 0.5 and logs().pop("f1", None) is None
    assert repr(logs()) == "{'loss': 0.5}"


def test_a_progress_bar_is_shown_now_and_then(monkeypatch):
    seen, times = [], iter([1.0, 1.1, 1.3, 1.4])
    monkeypatch.setattr(late_logs.time, "monotonic", lambda: next(times))
    bar = keras.callbacks.ProgbarLogger()
    bar.on_train_batch_end = lambda batch, logs: seen.append(batch)
    callbacks = LateCallbacks([bar])
    for batch in range(4):
        callbacks.on_train_batch_end(batch, {"loss": 1.0})
    assert seen == [0, 2]


SCRIPT = """
import tempfile
import keras, tiny
from keras_transformers.tasks.fit import late_logs

reads, number = [], late_logs._number
late_logs._number = lambda value: reads.append(1) or number(value)

def history(**options):
    task = tiny.classifier()
    keras.utils.set_random_seed(0)
    texts, labels = ["a fine film", "a dull day"] * 8, ["good", "bad"] * 8
    found = task.fit(texts, labels, epochs=2, batch_size=2, validation_data=(texts, labels), **options).history
    return found, [weight.tolist() for weight in task.model.get_weights()]

quiet = history(verbose=0)
assert not reads
folder = tempfile.mkdtemp()
assert history(verbose=0, resume=folder) == quiet
assert len(reads) <= 3  # the loss of a state that is saved, not that of every batch
assert history(verbose=1) == quiet
print(json.dumps(quiet[0]))
"""


@pytest.mark.slow
def test_fit_on_jax():
    """Without callbacks, with a run that is saved and with a progress bar: the same losses."""
    history = json.loads(run_on_jax(SCRIPT).splitlines()[-1])
    assert history.keys() >= {"loss", "val_loss"} and len(history["loss"]) == 2
