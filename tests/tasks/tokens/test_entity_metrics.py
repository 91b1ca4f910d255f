"""Precision, recall and F1 of entities are those of seqeval, whatever the labels."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest
from processes import run_on_jax
from seqeval.metrics import f1_score, precision_score, recall_score

from keras_transformers.tasks.tokens.entity_metrics import (
    EntityF1,
    EntityPrecision,
    EntityRecall,
    entity_counts,
)
from keras_transformers.tasks.tokens.label_schemes import TokenLabels, bio_labels
from keras_transformers.tasks.tokens.token_losses import TokenCrossEntropy

METRICS = (EntityPrecision, EntityRecall, EntityF1)
SCORES = (precision_score, recall_score, f1_score)
SCHEMES = {
    "bio": bio_labels(["x", "y-z"]),
    "bioes": bio_labels(["x", "y-z"], "bioes"),
    "no_begin": ["O", "I-x", "I-y"],
    "shuffled": ["I-y", "B-x", "O", "I-x"],
}


def random_batches(names: list[str], seed: int, agreement: float = 0.8):
    """Targets (B, T), whose words stand anywhere, and logits; and the labels of the words, true and found."""
    random = np.random.default_rng(seed)
    for width in (9, 1, 17):
        true = random.integers(0, len(names), (5, width))
        found = np.where(random.random(true.shape) < agreement, true, random.integers(0, len(names), true.shape))
        real = random.random(true.shape) < 0.7
        nothing = -random.integers(1, 5, true.shape)  # none, and further parts of words
        logits = random.normal(size=(*true.shape, len(names))) + 9.0 * np.eye(len(names))[found]
        labels = [
            [[names[i] for i in row[keep]] for row, keep in zip(rows, real, strict=True)] for rows in (true, found)
        ]
        yield np.where(real, true, nothing), logits.astype("float32"), *labels


@pytest.mark.integration(quick=["1-no_begin", "2-shuffled", "0-shuffled", "1-shuffled"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", range(3))
def test_equal_to_seqeval(scheme, seed):
    """Over batches, with labels that are inconsistent more often than not."""
    names = SCHEMES[scheme]
    metrics, true, found = [kind(names) for kind in METRICS], [], []
    for targets, logits, of_true, of_found in random_batches(names, seed):
        for metric in metrics:
            metric.update_state(targets, logits)
        true, found = true + of_true, found + of_found
    for metric, score in zip(metrics, SCORES, strict=True):
        assert float(metric.result()) == pytest.approx(score(true, found), abs=1e-6)
        assert 0.0 < float(metric.result()) < 1.0
        metric.reset_state()
        assert float(metric.result()) == 0.0


def test_the_numbers_that_seqeval_documents():
    """The example of its README: F1 is 0.5."""
    names = ["O", "B-MISC", "I-MISC", "B-PER", "I-PER"]
    true = [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    found = [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
    metric = EntityF1(names)
    for one, other in zip(true, found, strict=True):
        one, other = ([[names.index(label) for label in row]] for row in (one, other))
        metric.update_state(np.array(one), np.eye(5)[other])
    assert float(metric.result()) == 0.5


def test_no_entities_at_all():
    for kind in METRICS:
        metric = kind(SCHEMES["bio"])
        metric.update_state(np.zeros((2, 3), int), np.eye(5)[np.zeros((2, 3), int)])
        assert float(metric.result()) == 0.0


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"entities have labels such as O, B-person"):
        EntityF1(["NOUN", "VERB"])
    with pytest.raises(ValueError, match="pass it in `metrics`"):
        EntityF1(SCHEMES["bio"]).update_state(np.zeros((1, 1), int), np.zeros((1, 1, 5)), np.ones(1))


@pytest.mark.parametrize("kind", METRICS)
def test_config_round_trip(kind):
    metric = kind(SCHEMES["bioes"], name="other")
    copy = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(copy) is kind and copy.get_config() == metric.get_config()
    assert copy.labels == metric.labels and copy._direction == "up"


def by_evaluate(batches, names) -> dict[str, float]:
    """Through `model.evaluate`, whose model hands its logits on."""
    inputs = keras.Input((None, len(names)))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss=TokenCrossEntropy(), metrics=[kind(names) for kind in METRICS])
    results = {}
    for targets, logits in batches:
        results = model.evaluate(logits, targets, batch_size=2, return_dict=True, verbose=0)
    return results


@pytest.mark.integration
def test_inside_evaluate():
    names = SCHEMES["bio"]
    ((targets, logits, true, found), *_) = random_batches(names, 0)
    results = by_evaluate([(targets, logits)], names)
    assert [results[name] for name in ("precision", "recall", "f1")] == pytest.approx(
        [score(true, found) for score in SCORES], abs=1e-6
    )


JAX = """
import numpy as np
sys.path.insert(0, "tests/training")
from test_entity_metrics import SCHEMES, by_evaluate, random_batches
print(json.dumps([by_evaluate([batch[:2]], SCHEMES["bio"]) for batch in random_batches(SCHEMES["bio"], 0)]))
"""


@pytest.mark.slow
def test_inside_evaluate_on_jax():
    of_jax = json.loads(run_on_jax(JAX))
    for results, (_, _, true, found) in zip(of_jax, random_batches(SCHEMES["bio"], 0), strict=True):
        expected = [score(true, found) for score in SCORES]
        assert [results[name] for name in ("precision", "recall", "f1")] == pytest.approx(expected, abs=1e-6)


def test_counts():
    """Right and wrong ends and types; between words and behind them are logits that nobody reads."""
    names = SCHEMES["bio"]
    true = np.array([[1, 2, -4, 0, 3], [-1, 3, -1, 4, 1]])  # x, y-z; y-z, x
    found = np.array([[1, 0, 3, 0, 3], [1, 4, 0, 4, 2]])  # shorter x, y-z; y-z, x
    counts = entity_counts(true, np.eye(5)[found], TokenLabels(tuple(names)))
    assert keras.ops.convert_to_numpy(counts).tolist() == [3, 4, 4]
