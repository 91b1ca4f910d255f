"""The loss of a token classifier: a sum over all parts of words, per word."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tiny

from keras_transformers.data.batches.window import weighted
from keras_transformers.tasks.tokens.token_losses import TokenCrossEntropy
from keras_transformers.training.losses.target_losses import CrossEntropy

rng = np.random.default_rng(0)
LOGITS = rng.normal(size=(6, 5, 4)).astype("float32")
TARGETS = rng.integers(-5, 4, (6, 5))  # classes 0 to 3, none, and further parts of classes 0 to 3


def by_hand(targets, logits):
    classes = np.where(targets < -1, -2 - targets, targets)
    real = classes >= 0
    scores = np.log(tiny.softmax(logits.astype("float64")))[real]
    return -scores[np.arange(real.sum()), classes[real]].sum() / (targets >= 0).sum()


def test_against_numpy():
    assert (TARGETS < -1).any() and (TARGETS == -1).any()
    assert float(TokenCrossEntropy()(TARGETS, LOGITS)) == pytest.approx(by_hand(TARGETS, LOGITS), rel=1e-5)
    whole = np.maximum(TARGETS, -1)
    assert float(TokenCrossEntropy()(whole, LOGITS)) == pytest.approx(float(CrossEntropy()(whole, LOGITS)), rel=1e-6)


def test_without_words():
    assert float(TokenCrossEntropy()(np.full((1, 5), -1), LOGITS[:1])) == 0.0


def test_micro_batches_are_one_batch():
    """With the weights of the pipeline, which count words: the mean over two micro-batches is the loss of all rows."""
    group = weighted([({}, TARGETS[:2]), ({}, TARGETS[2:])])
    parts = [
        float(TokenCrossEntropy()(targets, logits, weights))
        for (_, targets, weights), logits in zip(group, (LOGITS[:2], LOGITS[2:]), strict=True)
    ]
    assert np.mean(parts) == pytest.approx(by_hand(TARGETS, LOGITS), rel=1e-5)


def test_sample_weights_are_of_rows_or_tokens():
    rows = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    expected = 2.0 * by_hand(TARGETS[:1], LOGITS[:1]) * (TARGETS[:1] >= 0).sum() / (TARGETS >= 0).sum()
    for weights in (rows, np.repeat(rows[:, None], 5, axis=1)):
        assert float(TokenCrossEntropy()(TARGETS, LOGITS, weights)) == pytest.approx(expected, rel=1e-5)


def test_config_round_trip():
    copy = keras.losses.deserialize(keras.losses.serialize(TokenCrossEntropy(name="words")))
    assert type(copy) is TokenCrossEntropy and copy.name == "words"
