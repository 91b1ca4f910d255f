"""What a TPU under TensorFlow gets, without one: batches of one shape, and steps that XLA compiles whole."""

from __future__ import annotations

import re

import every_task
import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.training.workers import tpu_batches
from keras_transformers.training.workers.distribute import build
from keras_transformers.training.workers.tpu_batches import batch_shapes


@pytest.fixture
def on_tpu(monkeypatch):
    """Any strategy counts as one of TPUs."""
    monkeypatch.setattr(tpu_batches, "is_tpu", lambda strategy: True)


class Cores:
    """A strategy of a number of cores, as far as batches ask for it."""

    def __init__(self, count):
        self.num_replicas_in_sync = count


def shapes(dataset):
    return [tuple(spec.shape) for spec in keras.tree.flatten(dataset.element_spec)]


def test_only_a_tpu_needs_one_shape():
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    assert not tpu_batches.is_tpu(strategy)
    assert batch_shapes(strategy, 7, {"seed": 1}) == {"seed": 1}


def test_settings_that_are_given_win(on_tpu):
    assert batch_shapes(Cores(8), 16, {}) == {"buckets": (), "pad_remainder": True}
    assert batch_shapes(Cores(8), 16, {"buckets": (16,)}) == {"buckets": (16,), "pad_remainder": True}
    options = {"drop_remainder": True}
    assert batch_shapes(Cores(8), 16, options) == {"buckets": (), "pad_remainder": False, **options}


@pytest.mark.parametrize(("size", "received"), [(12, "batch_size=12"), (None, "batch_tokens"), (0, "batch_size=0")])
def test_batches_that_cores_cannot_divide_are_refused(on_tpu, size, received):
    with pytest.raises(ValueError, match=rf"received {received} for a TPU of 8 cores.*a multiple of 8"):
        batch_shapes(Cores(8), size, {})


def compiled_ir(step, batch):
    return tf.function(step, jit_compile=True).experimental_get_compiler_ir(batch)(stage="hlo")


@pytest.mark.integration
@pytest.mark.parametrize("name", every_task.NAMES)
def test_steps_are_compiled_whole(on_tpu, name):
    with tf.distribute.OneDeviceStrategy("CPU:0").scope():
        task = every_task.make(name)
        task.compile()
    dataset = task.dataset(**every_task.USES[name].learns, batch_size=3)
    assert all(None not in shape and shape[0] == 3 for shape in shapes(dataset)), shapes(dataset)
    build(task.model, dataset)
    task.model.optimizer.build(task.model.trainable_variables)

    batches = list(dataset)
    assert [len(keras.tree.flatten(batch)[0]) for batch in batches] == [3] * len(batches)
    for step in (task.model.train_step, task.model.test_step):
        text = compiled_ir(step, batches[-1])
        assert not re.search(r"f64\[|infeed|outfeed|\bsend\(|\brecv\(|xla_python|HostCompute", text)


@pytest.mark.integration
def test_a_fit_traces_each_step_once_and_loses_no_row(on_tpu):
    task, learns = every_task.make("classification"), every_task.USES["classification"].learns
    expected = task.evaluate(**learns, batch_size=4)
    with tf.distribute.OneDeviceStrategy("CPU:0").scope():
        shared = every_task.make("classification")
    shared.model.set_weights(task.model.get_weights())
    found = shared.evaluate(**learns, batch_size=3)
    assert found == {metric: pytest.approx(value, rel=1e-4, abs=1e-5) for metric, value in expected.items()}

    traced = []
    for name in ("train_step", "test_step"):
        step = getattr(shared.model, name)
        setattr(shared.model, name, lambda batch, name=name, step=step: traced.append(name) or step(batch))
    history = shared.fit(**learns, epochs=2, batch_size=3, verbose=0, validation_data=tuple(learns.values()))
    assert np.isfinite(history.history["loss"]).all()
    assert sorted(traced) == ["test_step", "train_step"]
