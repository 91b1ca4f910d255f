"""Metrics: exact over uneven batches, blind to what is no target, saved with a model."""

import keras
import numpy as np
import pytest

from keras_transformers.training.metrics import target_metrics

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
    assert over_batches(target_metrics.MeanCrossEntropy(), LABELS, LOGITS) == pytest.approx(loss, rel=1e-6)
    assert over_batches(target_metrics.Perplexity(), LABELS, LOGITS) == pytest.approx(np.exp(loss), rel=1e-6)
    expected = (LOGITS.argmax(-1) == LABELS)[real].mean()
    assert over_batches(target_metrics.Accuracy(), LABELS, LOGITS) == pytest.approx(expected, rel=1e-6)


def test_sample_weights():
    metric = target_metrics.Accuracy()
    metric.update_state(np.array([[0, 1], [1, -1]]), np.array([[[1.0, 0]] * 2, [[1.0, 0]] * 2]), np.array([3.0, 1.0]))
    assert float(metric.result()) == pytest.approx(3 / 7)  # right, wrong, wrong, none


def test_multi_label():
    labels, logits = rng.integers(-1, 2, (10, 4)), LOGITS[:, 0]
    real, chosen = labels >= 0, logits > 0
    expected = (chosen == (labels == 1))[real].mean()
    assert over_batches(target_metrics.BinaryAccuracy(), labels, logits) == pytest.approx(expected, rel=1e-6)
    hits = (chosen & (labels == 1)).sum(0)
    f1 = 2 * hits.sum() / (chosen[real].sum() + (labels == 1).sum())
    assert over_batches(target_metrics.F1(), labels, logits) == pytest.approx(f1, rel=1e-6)
    macro = (2 * hits / ((chosen & real).sum(0) + (labels == 1).sum(0))).mean()
    assert over_batches(target_metrics.F1("macro"), labels, logits) == pytest.approx(macro, rel=1e-5)


def test_regression():
    predictions = LOGITS[:, 0, :1]
    real = ~np.isnan(NUMBERS)
    error = np.abs(predictions[:, 0] - NUMBERS)[real].mean()
    assert over_batches(target_metrics.MeanAbsoluteError(), NUMBERS, predictions) == pytest.approx(error, rel=1e-6)
    correlation = np.corrcoef(predictions[real, 0], NUMBERS[real])[0, 1]
    assert over_batches(target_metrics.Pearson(), NUMBERS, predictions) == pytest.approx(correlation, abs=1e-4)


@pytest.mark.parametrize("make", [target_metrics.MeanCrossEntropy, target_metrics.Perplexity, target_metrics.Accuracy])
def test_a_target_counts_the_same_in_batches_of_any_length(make):
    """A batch of rows of 2, and one of rows of 3 in a padding of 9."""
    whole, parts = make(), make()
    whole.update_state(LABELS, LOGITS)
    longer = np.pad(LABELS[5:], ((0, 0), (0, 6)), constant_values=-1), np.pad(LOGITS[5:], ((0, 0), (0, 6), (0, 0)))
    parts.update_state(LABELS[:5], LOGITS[:5])
    parts.update_state(*longer)
    assert float(parts.result()) == pytest.approx(float(whole.result()), rel=1e-6)


NONE = {target_metrics.BinaryAccuracy: -np.ones((2, 3)), target_metrics.MeanAbsoluteError: np.full(2, np.nan)}
NONE |= {target_metrics.Pearson: np.full(2, np.nan)}


@pytest.mark.parametrize(
    "make",
    [target_metrics.MeanCrossEntropy, target_metrics.Perplexity, target_metrics.Accuracy, *NONE],
    ids=lambda make: make.__name__,
)
def test_no_target_at_all_is_no_number(make):
    metric, labels = make(), NONE.get(make, np.array([-1, -1]))
    numbers = labels.ndim == 1 and np.isnan(labels).all()
    metric.update_state(labels, np.full((2, 1 if numbers else 3), np.inf, "float32"))
    assert np.isnan(float(metric.result()))


@pytest.mark.parametrize("constant", [1.0, 0.1])
def test_constant_predictions_have_no_correlation(constant):
    assert over_batches(target_metrics.Pearson(), NUMBERS, np.full((10, 1), constant, "float32")) == 0.0


@pytest.mark.integration
@pytest.mark.parametrize("far", [0.0, 2e3, 2e4])
def test_correlation_far_from_zero(far):
    """Labels and predictions with another mean in each batch, in float32."""
    labels = (far + rng.normal(size=1000) + np.arange(1000) // 100).astype("float32")
    predictions = (labels + 2 * rng.normal(size=1000)).astype("float32")
    metric = target_metrics.Pearson()
    for start in range(0, 1000, 30):
        metric.update_state(labels[start : start + 30], predictions[start : start + 30, None])
    assert float(metric.result()) == pytest.approx(np.corrcoef(labels, predictions)[0, 1], abs=2e-4)


ALL = [
    target_metrics.MeanCrossEntropy(),
    target_metrics.Perplexity(),
    target_metrics.Accuracy(),
    target_metrics.BinaryAccuracy(),
    target_metrics.F1("macro", name="macro"),
    target_metrics.MeanAbsoluteError(),
    target_metrics.Pearson(),
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


def test_labels_keep_their_digits_beside_predictions_in_half_precision():
    labels = rng.normal(size=40).astype("float32")
    predictions = keras.ops.cast(labels[:, None] + rng.normal(size=(40, 1)), "bfloat16")
    expected = np.corrcoef(labels, np.array(keras.ops.cast(predictions, "float32"))[:, 0])[0, 1]
    metric = target_metrics.Pearson()
    metric.update_state(labels, predictions)
    assert float(metric.result()) == pytest.approx(expected, abs=2e-6)
