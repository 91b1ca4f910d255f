"""Adapters through `zoo.load`: what is saved and exported is the merged model."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import tiny
from tiny import FIT, LABELS, NAMES, TEXTS

import zoo

pytestmark = pytest.mark.filterwarnings("ignore:the checkpoint's classifier is for the labels")


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    """A classifier with adapters after `fit`, on top of a saved one of other labels."""
    folder = tmp_path_factory.mktemp("checkpoint") / "model"
    tiny.decoder_classifier(["a", "b"]).save(folder)
    task = zoo.load(folder, labels=NAMES, lora_rank=4, seed=0)
    task.start = tiny.weights(task)
    task.fit(TEXTS, LABELS, **FIT)
    return task


def probabilities(task):
    return [answer["probabilities"]["good"] for answer in task.predict(TEXTS)]


@pytest.mark.integration
def test_only_adapters_and_the_classifier_train(task):
    pairs = zip(task.model.weights, task.start, strict=True)
    changed = {variable.path.split("/")[-1] for variable, old in pairs if not np.array_equal(variable, old)}
    assert changed == {"lora_kernel_a", "lora_kernel_b", "kernel"}  # the kernel is the classifier's
    assert {v.path for v in task.model.trainable_variables if v.name == "kernel"} == {"classifier/kernel"}
    assert task.evaluate(TEXTS, LABELS)["accuracy"] > 0.9


@pytest.mark.integration
def test_saved_and_exported_without_adapters(task, tmp_path):
    expected = probabilities(task)
    task.save(tmp_path / "model")
    plain = zoo.load(tmp_path / "model")
    assert not any("lora" in variable.path for variable in plain.model.weights)
    assert probabilities(plain) == pytest.approx(expected, abs=1e-5)
    task.export(tmp_path / "1")
    exported = tf.saved_model.load(str(tmp_path / "1"))
    answer = exported.signatures["serving_default"](text=tf.constant(TEXTS))["probabilities"][:, 1]
    np.testing.assert_allclose(answer, expected, atol=1e-5)
    assert not any("lora" in variable.name for variable in exported.weights)
    assert probabilities(task) == expected
