"""What shows on one replica; more of them take a process each and stand in test_distribute.py."""

from __future__ import annotations

import keras
import pytest
import tensorflow as tf

import zoo
from keras_transformers.tasks import Task
from keras_transformers.training.workers.distribute import run_if


@pytest.mark.parametrize("strategy", [None, "mirrored"])
def test_an_update_is_run_when_it_is_due_and_not_else(strategy):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"]) if strategy else tf.distribute.get_strategy()
    with strategy.scope():
        steps, updates = keras.Variable(0, dtype="int32"), keras.Variable(0, dtype="int32")

    def update():
        updates.assign_add(1)

    def one_step():
        steps.assign_add(1)
        run_if(lambda: steps % 3 == 0, update)

    step = tf.function(lambda: strategy.run(one_step))
    seen = []
    for _ in range(7):
        step()
        seen.append(int(updates.numpy()))
    assert seen == [0, 0, 1, 1, 1, 2, 2]


def test_a_backend_that_tasks_do_not_run_on_is_told_before_anything_is_loaded(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    message = "tasks run on TensorFlow and JAX: received the backend 'torch'. Set KERAS_BACKEND=tensorflow or jax"
    with pytest.raises(ValueError, match=message):
        zoo.load("there is no such model")
    with pytest.raises(ValueError, match=message):
        Task("no task", None, None)
