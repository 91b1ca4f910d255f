"""Metrics of best paths: what they count, and what saves them."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy

from keras_transformers.layers import CRF, Viterbi
from keras_transformers.tasks.tokens.entity_metrics import EntityF1
from keras_transformers.training.losses.crf_loss import CRFLoss
from keras_transformers.training.metrics.path_metrics import BestPath, PathCrossEntropy
from keras_transformers.training.metrics.target_metrics import Accuracy

LABELS = np.array([[1, 2, -3, 0], [0, -1, 1, -1]])


@pytest.fixture(scope="module")
def scores() -> np.ndarray:
    layer = CRF()
    layer.build((None, None, 3))
    return to_numpy(randomize(layer, scale=2.0)(normal(2, 4, 3)))


def test_accuracy_is_of_the_best_path_over_words(scores):
    """A further part of a word is on the path, and not counted."""
    metric = BestPath(Accuracy(), has_parts=True)
    metric.update_state(LABELS, scores)
    hidden = scores.copy()
    hidden[:, :4, -1] = LABELS != -1
    found = to_numpy(Viterbi()(hidden))
    assert float(metric.result()) == pytest.approx((found == LABELS)[LABELS >= 0].mean())
    metric.reset_state()
    assert np.isnan(float(metric.result()))


def test_words_that_the_mask_of_the_layer_hides_are_not_counted():
    scores = CRF()(np.array([[[0.0, 1.0], [0.0, 1.0]]]), padding_mask=np.array([[1, 0]]))
    metric = BestPath(Accuracy())
    metric.update_state(np.array([[1, 0]]), scores)
    assert float(metric.result()) == 1.0


def test_cross_entropy_is_the_loss_of_all_batches(scores):
    metric = PathCrossEntropy(has_parts=True)
    for rows in (slice(0, 1), slice(1, 2)):
        metric.update_state(LABELS[rows], scores[rows])
    assert float(metric.result()) == pytest.approx(float(CRFLoss(has_parts=True)(LABELS, scores)), rel=1e-5)


def test_entities_and_weights(scores):
    metric = BestPath(EntityF1(["O", "B-x", "I-x"]))
    metric.update_state(LABELS, scores)
    assert metric.name == "f1" and 0.0 <= float(metric.result()) <= 1.0
    weighed = BestPath(Accuracy())
    weighed.update_state(LABELS, scores, sample_weight=np.array([1.0, 0.0]))
    alone = BestPath(Accuracy())
    alone.update_state(LABELS[:1], scores[:1])
    assert float(weighed.result()) == float(alone.result())


def test_config():
    metric = BestPath(EntityF1(["O", "B-x", "I-x"]), has_parts=True)
    back = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
    assert (back.name, back.has_parts, back.metric.labels.names) == ("f1", True, ("O", "B-x", "I-x"))
    assert keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(PathCrossEntropy(True))).has_parts


def test_what_is_no_metric_is_refused():
    with pytest.raises(ValueError, match=r"metric of Keras, such as Accuracy\(\): received 'accuracy'"):
        BestPath("accuracy")
