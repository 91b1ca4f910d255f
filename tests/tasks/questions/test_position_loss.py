"""The loss of question answering: that of Keras over positions, a mean of first and last tokens."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_transformers.layers.attention.masks import NEVER
from keras_transformers.tasks.questions.position_loss import SpanCrossEntropy

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(size=(4, 7, 2)).astype("float32")
POSITIONS = np.array([[0, 0], [2, 5], [6, 6], [1, 3]])


def expected(positions, logits):
    """By Keras, for first and last tokens each."""
    losses = [
        keras.losses.sparse_categorical_crossentropy(positions[:, side], logits[..., side], from_logits=True)
        for side in range(2)
    ]
    return float(np.mean([np.array(loss) for loss in losses]))


def test_it_is_the_mean_of_both_cross_entropies():
    assert float(SpanCrossEntropy()(POSITIONS, LOGITS)) == pytest.approx(expected(POSITIONS, LOGITS), rel=1e-6)


def test_rows_without_target_do_not_count():
    positions, logits = np.concatenate([POSITIONS, [[-1, -1]]]), np.concatenate([LOGITS, LOGITS[:1]])
    assert float(SpanCrossEntropy()(positions, logits)) == pytest.approx(expected(POSITIONS, LOGITS), rel=1e-6)
    assert float(SpanCrossEntropy()(np.full((2, 2), -1), LOGITS[:2])) == 0.0


def test_padding_changes_nothing():
    padded = np.concatenate([LOGITS, np.full((4, 3, 2), NEVER, "float32")], axis=1)
    assert float(SpanCrossEntropy()(POSITIONS, padded)) == float(SpanCrossEntropy()(POSITIONS, LOGITS))


def test_weights():
    loss, weights = SpanCrossEntropy(), np.array([2.0, 0.0, 1.0, 1.0], "float32")
    by_row = [float(loss(POSITIONS[i : i + 1], LOGITS[i : i + 1])) for i in range(4)]
    assert float(loss(POSITIONS, LOGITS, weights)) == pytest.approx(np.dot(by_row, weights) / 4, rel=1e-5)


def test_it_comes_back_from_its_configuration():
    loss = keras.losses.deserialize(keras.losses.serialize(SpanCrossEntropy()))
    assert float(loss(POSITIONS, LOGITS)) == float(SpanCrossEntropy()(POSITIONS, LOGITS))
