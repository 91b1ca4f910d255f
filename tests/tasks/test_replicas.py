"""`fit` on two replicas, in a process of its own: logical devices must be set before TensorFlow starts."""

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
from keras_transformers.training.distribute import scope

def run(strategy):
    with scope(strategy):
        task = tiny.classifier()
    # Outside of the scope, and with a last batch of 4 rows.
    options = {"epochs": 2, "batch_size": 10, "learning_rate": 1e-3, "verbose": 0}
    task.fit(tiny.TEXTS, tiny.LABELS, validation_data=(tiny.TEXTS, tiny.LABELS), **options)
    return tiny.weights(task), task.evaluate(tiny.TEXTS, tiny.LABELS), task.predict(["a fine film"])[0]

(one, result, answer), (two, results, answers) = run(None), run(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
np.testing.assert_allclose(results["cross_entropy"], result["cross_entropy"], rtol=1e-5)
np.testing.assert_allclose(answers["probabilities"]["good"], answer["probabilities"]["good"], rtol=1e-5)
for a, b in zip(one, two, strict=True):
    np.testing.assert_allclose(a, b, atol=1e-5)
print("the same")
"""


@pytest.mark.slow
def test_two_replicas_take_the_same_steps_as_one():
    assert run(SCRIPT).endswith("the same\n")
