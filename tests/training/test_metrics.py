"""Metrics: exact over uneven batches, blind to what is no target, saved with a model."""

import keras
import numpy as np
import pytest

from keras_transformers.training import metrics

rng = np.random.default_rng(0)
LOGITS = rng.normal(size=(10, 3, 4)).astype("float32")
LABELS = rng.integers(-1, 4, (10, 3))
NUMBERS = np.where(rng.random(10) < 0.3, np.nan, 3 + rng.normal(size=10)).astype("float32")


def over_batches(metric, labels, predictions):
    for part in (slice(0, 7), slice(7, 8), slice(8, 10)):
        metric.update_state(labels[part], predictions[part])
    return float(metric.result())


def test_cross_entropy_perplexity_and_accuracy():
    real = LABELS >= 0
    scores = LOGITS - np.log(np.exp(LOGITS).sum(-1, keepdims=True))
    loss = -np.take_along_axis(scores, LABELS[..., None] * real[..., None], -1)[..., 0][real].mean()
    assert over_batches(metrics.MeanCrossEntropy(), LABELS, LOGITS) == pytest.approx(loss, rel=1e-6)
    assert over_batches(metrics.Perplexity(), LABELS, LOGITS) == pytest.approx(np.exp(loss), rel=1e-6)
    expected = (LOGITS.argmax(-1) == LABELS)[real].mean()
    assert over_batches(metrics.Accuracy(), LABELS, LOGITS) == pytest.approx(expected, rel=1e-6)


def test_sample_weights():
    metric = metrics.Accuracy()
    metric.update_state(np.array([[0, 1], [1, -1]]), np.array([[[1.0, 0]] * 2, [[1.0, 0]] * 2]), np.array([3.0, 1.0]))
    assert float(metric.result()) == pytest.approx(3 / 7)  # right, wrong, wrong, none


def test_multi_label():
    labels, logits = rng.integers(-1, 2, (10, 4)), LOGITS[:, 0]
    real, chosen = labels >= 0, logits > 0
    expected = (chosen == (labels == 1))[real].mean()
    assert over_batches(metrics.BinaryAccuracy(), labels, logits) == pytest.approx(expected, rel=1e-6)
    hits = (chosen & (labels == 1)).sum(0)
    f1 = 2 * hits.sum() / (chosen[real].sum() + (labels == 1).sum())
    assert over_batches(metrics.F1(), labels, logits) == pytest.approx(f1, rel=1e-6)
    macro = (2 * hits / ((chosen & real).sum(0) + (labels == 1).sum(0))).mean()
    assert over_batches(metrics.F1("macro"), labels, logits) == pytest.approx(macro, rel=1e-5)


def test_regression():
    predictions = LOGITS[:, 0, :1]
    real = ~np.isnan(NUMBERS)
    error = np.abs(predictions[:, 0] - NUMBERS)[real].mean()
    assert over_batches(metrics.MeanAbsoluteError(), NUMBERS, predictions) == pytest.approx(error, rel=1e-6)
    correlation = np.corrcoef(predictions[real, 0], NUMBERS[real])[0, 1]
    assert over_batches(metrics.Pearson(), NUMBERS, predictions) == pytest.approx(correlation, abs=1e-4)


@pytest.mark.parametrize("make", [metrics.MeanCrossEntropy, metrics.Perplexity, metrics.Accuracy])
def test_no_target_is_finite(make):
    metric = make()
    metric.update_state(np.array([-1, -1]), np.full((2, 3), np.inf, "float32"))
    assert float(metric.result()) == (1.0 if make is metrics.Perplexity else 0.0)


def test_constant_predictions_have_no_correlation():
    assert over_batches(metrics.Pearson(), NUMBERS, np.ones((10, 1), "float32")) == 0.0


ALL = [
    metrics.MeanCrossEntropy(),
    metrics.Perplexity(),
    metrics.Accuracy(),
    metrics.BinaryAccuracy(),
    metrics.F1("macro", name="macro"),
    metrics.MeanAbsoluteError(),
    metrics.Pearson(),
]


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_config_round_trip(metric):
    copy = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(copy) is type(metric) and copy.get_config() == metric.get_config()
    assert getattr(copy, "average", None) == getattr(metric, "average", None)


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_keras_knows_what_is_better(metric):
    better = {"cross_entropy": "down", "perplexity": "down", "mean_absolute_error": "down"}
    assert metric._direction == better.get(metric.name, "up")
