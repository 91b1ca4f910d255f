"""Strategies by name. `multi_worker` trains in `test_several_workers.py`."""

from __future__ import annotations

import json

import pytest
import tensorflow as tf
from processes import run

import zoo
from keras_transformers.training.workers import strategy as module
from keras_transformers.training.workers.strategy import chosen, strategy

CONFIG = json.dumps({"cluster": {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}, "task": {"type": "worker", "index": 0}})


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("TF_CONFIG", "SLURM_STEP_NUM_TASKS", *module.TPU_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    module._multi_worker.cache_clear()


def test_auto_takes_what_there_is(monkeypatch):
    assert strategy() is None
    monkeypatch.setattr(module, "_multi_worker", lambda: "workers")
    monkeypatch.setattr(module, "_tpu", lambda: "tpu")
    monkeypatch.setenv("TPU_NAME", "mine")
    assert strategy("auto") == "tpu"
    monkeypatch.setenv("TF_CONFIG", CONFIG)
    assert strategy("auto") == "workers"
    alone = {"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.delenv("TPU_NAME")
    monkeypatch.setenv("TF_CONFIG", json.dumps(alone))
    assert strategy("auto") is None


def test_mirrored():
    assert isinstance(strategy("mirrored"), tf.distribute.MirroredStrategy)


def test_chosen_is_by_name_or_as_it_is():
    one = tf.distribute.get_strategy()
    assert chosen(one) is one and chosen(None) is None and chosen("auto") is None


@pytest.mark.integration
def test_a_model_is_made_in_a_strategy_by_name():
    task = zoo.load("minilm_mini_en", labels=2, strategy="mirrored", weights=False)
    assert isinstance(task.model.distribute_strategy, tf.distribute.MirroredStrategy)


@pytest.mark.parametrize(
    ("name", "message"),
    [("several", r"strategy='several'; expected one of \['auto'"), ("multi_worker", "no cluster in the environment")],
)
def test_what_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        zoo.load("minilm_mini_en", labels=2, strategy=name)


def test_workers_after_tensorflow_has_begun_to_work(monkeypatch):
    tf.constant(1)
    monkeypatch.setenv("TF_CONFIG", CONFIG)
    with pytest.raises(ValueError, match="too late: Collective ops must be configured at program startup"):
        strategy("multi_worker")


def test_no_tpu(monkeypatch):
    class Resolver:
        def __init__(self, name):
            raise ValueError(f"no TPU {name}")

    module._tpu.cache_clear()
    monkeypatch.setattr(tf.distribute.cluster_resolver, "TPUClusterResolver", Resolver)
    with pytest.raises(ValueError, match=r"found no TPU: no TPU local\. Expected one on this machine"):
        strategy("tpu")


@pytest.mark.parity
def test_on_jax():
    script = """
import sys
sys.modules["tensorflow"] = None
from keras_transformers.training.workers.strategy import strategy
try:
    strategy("mirrored")
except ValueError as error:
    print(error)
"""
    assert "another backend than TensorFlow" in run(script, KERAS_BACKEND="jax")
