"""The loss of a conditional random field: its divisor, holes, weights, and what saves it."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from processes import run

from keras_transformers.layers import CRF
from keras_transformers.layers.crf.path_scores import log_partition, path_score, unpacked
from keras_transformers.training.losses.crf_loss import CRFLoss

B, T, C = 3, 5, 4
LABELS = np.array([[1, 2, 0, -1, -1], [-1, 3, -1, 0, 1], [-1, -1, -1, -1, -1]])


@pytest.fixture(scope="module")
def scores() -> np.ndarray:
    layer = CRF()
    layer.build((None, None, C))
    return to_numpy(randomize(layer)(normal(B, T, C)))


def likelihoods(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    paths = unpacked(scores, keras.ops.convert_to_tensor(labels >= 0))
    return to_numpy(path_score(paths, np.asarray(labels, "int32")) - log_partition(paths))


def test_divides_by_words(scores):
    expected = -likelihoods(scores, LABELS)
    assert expected[2] == 0.0
    assert float(CRFLoss()(LABELS, scores)) == pytest.approx(expected.sum() / 6, rel=1e-5)
    assert float(CRFLoss()(LABELS[..., None], scores)) == pytest.approx(expected.sum() / 6, rel=1e-5)
    assert float(CRFLoss()(LABELS[2:], scores[2:])) == 0.0


@pytest.mark.parametrize("label", [C, C + 1, 10_000])
def test_a_label_beyond_the_last_one_is_nan(scores, label):
    labels = np.where(LABELS == 3, label, LABELS)
    assert np.isnan(float(CRFLoss()(labels, scores)))
    assert np.isfinite(float(CRFLoss()(labels[:1], scores[:1])))


def test_further_parts_are_of_the_chain_and_no_words(scores):
    parts = np.where((LABELS >= 0) & (np.arange(T) == 1), -2 - LABELS, LABELS)  # the second column
    expected = -likelihoods(scores, LABELS).sum() / 4
    assert float(CRFLoss(has_parts=True)(parts, scores)) == pytest.approx(expected, rel=1e-5)
    without = -likelihoods(scores, np.maximum(parts, -1)).sum() / 4
    assert float(CRFLoss()(parts, scores)) == pytest.approx(without, rel=1e-5)


def test_weights_of_texts_and_of_words(scores):
    each = -likelihoods(scores, LABELS)
    weights = np.array([2.0, 0.5, 9.0])
    expected = (weights * each).sum() / 6
    assert float(CRFLoss()(LABELS, scores, sample_weight=weights)) == pytest.approx(expected, rel=1e-5)
    of_words = np.where(LABELS[:1] == 2, 4.0, 1.0)  # a mean of 2
    assert float(CRFLoss()(LABELS[:1], scores[:1], sample_weight=of_words)) == pytest.approx(2 * each[0] / 3, rel=1e-5)


def test_padding_changes_nothing(scores):
    rows = np.pad(scores[:, :T], ((0, 0), (0, 6), (0, 0)), constant_values=7.0)
    padded = np.concatenate([rows, scores[:, T:]], axis=1)
    labels = np.pad(LABELS, ((0, 0), (0, 6)), constant_values=-100)
    assert float(CRFLoss()(labels, padded)) == pytest.approx(float(CRFLoss()(LABELS, scores)), rel=1e-6)


def test_config():
    loss = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(CRFLoss(True, name="nll")))
    assert (loss.has_parts, loss.name) == (True, "nll")


REPLICAS = """
import sys
import numpy as np
import tensorflow as tf
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
import keras
from keras_transformers import CRF, CRFLoss
from keras_transformers.training.workers.distribute import scope

rng = np.random.default_rng(0)
x, y = rng.normal(size=(7, 5, 3)).astype("float32"), rng.integers(-1, 3, (7, 5))

def weights(strategy):
    with scope(strategy):
        model = keras.Sequential([keras.Input((5, 3)), keras.layers.Dense(3, kernel_initializer="ones"), CRF()])
        model.compile(keras.optimizers.SGD(0.5), CRFLoss(), jit_compile=False)
    losses = model.fit(x, y, batch_size=4, epochs=3, verbose=0, shuffle=False).history["loss"]
    return [*model.get_weights(), np.array(losses)]

for one, two in zip(weights(None), weights(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])), strict=True):
    np.testing.assert_allclose(one, two, atol=1e-5)
print("the same")
"""


@pytest.mark.slow
def test_two_replicas_are_one():
    assert run(REPLICAS).endswith("the same\n")
