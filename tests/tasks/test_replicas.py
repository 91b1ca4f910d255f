"""`fit` and `evaluate` on two replicas, also where batches do not divide evenly.

In a process of its own: logical devices must be set before TensorFlow starts.
"""

from __future__ import annotations

import pytest
from processes import run

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import tensorflow as tf
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
import tiny
from keras_transformers.training.workers.distribute import scope

def run(strategy):
    with scope(strategy):
        task = tiny.classifier()
    # Outside of the scope, and with a last batch of 4 rows.
    options = {"epochs": 2, "batch_size": 10, "learning_rate": 1e-3, "verbose": 0}
    task.fit(tiny.TEXTS, tiny.LABELS, validation_data=(tiny.TEXTS, tiny.LABELS), **options)
    return tiny.weights(task), task.evaluate(tiny.TEXTS, tiny.LABELS), task.predict(["a fine film"])[0]

def uneven(strategy):
    # First batches of 5 rows, of 1, and of 48 tokens.
    with scope(strategy):
        task = tiny.classifier()
    fit = {"batch_size": 5, "epochs": 1, "learning_rate": 1e-3, "verbose": 0}
    task.fit(tiny.TEXTS[:13], tiny.LABELS[:13], **fit)
    task.fit(tiny.TEXTS, tiny.LABELS, **(fit | {"dataset_options": {"batch_tokens": 48}}))
    task.fit(tiny.TEXTS[:1], tiny.LABELS[:1], validation_data=(tiny.TEXTS[:3], tiny.LABELS[:3]), **fit)
    dataset = task.dataset(tiny.TEXTS[:7], tiny.LABELS[:7], batch_size=3)
    task.model.fit(dataset, verbose=0)
    assert dataset.position.epoch == 1
    trained = tiny.weights(task)
    with scope(strategy):
        task = tiny.classifier()  # nothing built by `fit`
    return trained, [task.evaluate(tiny.TEXTS[:n], tiny.LABELS[:n], batch_size=5) for n in (1, 5)]

def weighed(strategy):
    with scope(strategy):
        task = tiny.classifier()
    fit = {"epochs": 2, "batch_size": 5, "accumulation_steps": 2, "learning_rate": 1e-3, "steps_per_epoch": 2}
    weights = {"sample_weight": np.arange(24) / 12, "class_weight": {"good": 3.0}}
    task.fit(tiny.TEXTS, tiny.LABELS, validation_split=0.2, verbose=0, **fit, **weights)
    return tiny.weights(task)

mirrored = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
(one, scores), (two, others) = uneven(None), uneven(mirrored)
for a, b in zip(one, two, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5)
for a, b in zip(scores, others, strict=True):
    np.testing.assert_allclose(list(a.values()), list(b.values()), rtol=1e-5)

for a, b in zip(weighed(None), weighed(mirrored), strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5)

(one, result, answer), (two, results, answers) = run(None), run(mirrored)
np.testing.assert_allclose(results["cross_entropy"], result["cross_entropy"], rtol=1e-5)
np.testing.assert_allclose(answers["probabilities"]["good"], answer["probabilities"]["good"], rtol=1e-5)
for a, b in zip(one, two, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5)
print("the same")
"""


@pytest.mark.slow
def test_two_replicas_take_the_same_steps_as_one():
    assert run(SCRIPT).endswith("the same\n")
