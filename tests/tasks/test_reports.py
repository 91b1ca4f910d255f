"""What answers say of a model: the same metrics as `evaluate`, and what is wrong."""

from __future__ import annotations

import entities
import numpy as np
import pytest
import questions
import tiny

from keras_transformers.tasks.inputs.labels import make_labels
from keras_transformers.tasks.reports import (
    choice_report,
    label_report,
    measure,
    pair_report,
    similarity_report,
)
from keras_transformers.tasks.tokens.word_reports import entities_of

TEXTS = ["t0", "t1", "t2", "t3"]


def answers(names, rows, key="probabilities"):
    return [{key: dict(zip(names, row, strict=True))} for row in rows]


def test_classes():
    names = ("bad", "good", "odd")
    probabilities = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.05, 0.9, 0.05], [0.3, 0.3, 0.4]]
    labels = ["bad", "bad", "odd", "odd"]
    report = label_report(make_labels(names, None))(TEXTS, labels, None, answers(names, probabilities))
    assert report["accuracy"] == 0.5
    assert report["cross_entropy"] == pytest.approx(-np.log([0.7, 0.1, 0.05, 0.4]).mean())
    assert report["macro_f1"] == pytest.approx((2 / 3 + 0 + 2 / 3) / 3)
    assert report["confusion"] == {"labels": ["bad", "good", "odd"], "counts": [[1, 1, 0], [0, 0, 0], [0, 1, 1]]}
    assert report["worst"] == [
        {"text": "t2", "label": "odd", "predicted": "good", "probability": pytest.approx(0.9)},
        {"text": "t1", "label": "bad", "predicted": "good", "probability": pytest.approx(0.6)},
    ]
    sure = label_report(make_labels(names, None))(["t"], ["bad"], ["p"], answers(names, [[0.0, 1.0, 0.0]]))
    assert np.isfinite(sure["cross_entropy"]) and sure["worst"][0]["text_pair"] == "p"


def test_sets_of_labels():
    names = ("x", "y")
    rows = [[0.9, 0.1], [0.6, 0.8], [0.2, 0.3], [0.5, 0.1]]
    labels = [["x"], ["y"], ["y"], ["x"]]
    report = label_report(make_labels(names, "multi_label"))(TEXTS, labels, None, answers(names, rows))
    assert report["binary_accuracy"] == 6 / 8 and report["f1"] == pytest.approx(6 / 8)
    assert report["classes"]["x"] == {
        "precision": pytest.approx(2 / 3), "recall": 1.0, "f1": pytest.approx(0.8), "support": 2, "predicted": 3,
    }  # fmt: skip
    assert [row["text"] for row in report["worst"]] == ["t2", "t1"]
    assert report["worst"][1] | {"probability": 0} == {
        "text": "t1", "label": ["y"], "predicted": ["x", "y"], "probability": 0,
    }  # fmt: skip


def test_numbers():
    report = label_report(make_labels(["stars"], "regression"))
    found = report(TEXTS, [1.0, 2.0, 3.0, 4.0], None, answers(["stars"], [[1.5], [2.0], [2.0], [5.0]], "scores"))
    assert found["mean_absolute_error"] == pytest.approx(0.625)
    assert found["pearson"] == pytest.approx(np.corrcoef([1, 2, 3, 4], [1.5, 2, 2, 5])[0, 1])
    assert found["spearman"] == pytest.approx(0.9486833)
    assert [(row["text"], row["error"]) for row in found["worst"]] == [("t2", 1.0), ("t3", 1.0), ("t0", 0.5)]


def test_pairs_and_choices():
    found = pair_report(TEXTS, [1, 0, 0.5, 0], TEXTS, [{"probability": p} for p in (0.9, 0.8, 0.6, 0.1)])
    assert found["binary_accuracy"] == 0.75
    assert [(row["text"], row["text_pair"], row["predicted"]) for row in found["worst"]] == [("t1", "t1", 0.8)]
    made = [{"choice": 0, "probabilities": [0.7, 0.3]}, {"choice": 1, "probabilities": [0.4, 0.6]}]
    found = choice_report(["t0", "t1"], [0, 0], [["a", "b"], ["c", "d"]], made)
    assert found == {
        "accuracy": 0.5, "worst": [{"text": "t1", "label": "c", "predicted": "d", "probability": 0.6}],
    }  # fmt: skip
    found = similarity_report(["a", "b"], [1.0, 0.0], ["c", "d"], [{"similarity": 0.9}, {"similarity": 0.5}])
    assert found["pearson"] == pytest.approx(1.0) and found["worst"][0]["text"] == "b"


def test_entities_of_bioes():
    from keras_transformers.tasks.tokens.label_schemes import TokenLabels, bio_labels

    labels = TokenLabels(tuple(bio_labels(["x"], "bioes")))
    assert entities_of([labels.numbers[name] for name in ("B-x", "E-x", "S-x", "O")], labels) == [
        (0, 1, "x"),
        (2, 2, "x"),
    ]
    assert entities_of([], labels) == []


def agrees(task, texts, labels, pairs=None):
    """The report, whose metrics are those of `evaluate`."""
    report, metrics = measure(task, texts, labels, pairs=pairs), task.evaluate(texts, labels, pairs=pairs)
    shared = report.keys() & metrics.keys()
    assert {name: report[name] for name in shared} == pytest.approx({name: metrics[name] for name in shared}, abs=1e-5)
    return report, shared


@pytest.mark.integration
def test_a_classifier_agrees_with_evaluate():
    task = tiny.classifier()
    report, shared = agrees(task, tiny.TEXTS, tiny.LABELS)
    assert shared == {"accuracy", "cross_entropy"}
    assert len(report["worst"]) == min(20, round((1 - report["accuracy"]) * len(tiny.TEXTS)))
    with pytest.raises(ValueError, match="unknown label 'so-so'"):
        measure(task, ["a film"], ["so-so"])
    with pytest.raises(ValueError, match="needs labels"):
        measure(task, ["a film"])
    assert measure(tiny.masked_lm(), tiny.TEXTS).keys() == {"accuracy", "perplexity"}


@pytest.mark.integration
@pytest.mark.parametrize("given", ["words", "spans"])
def test_a_token_classifier_agrees_with_evaluate(given):
    texts, labels = (entities.WORDS, entities.LABELS) if given == "words" else (entities.TEXTS, entities.SPANS)
    task = questions.untraced(entities.token_classifier())
    report, shared = agrees(task, texts, labels)
    assert shared == {"accuracy", "precision", "recall", "f1"}
    assert report["classes"].keys() == {"person", "place"} and report["worst"][0]["text"] in entities.TEXTS


@pytest.mark.integration
def test_tags_agree_with_evaluate():
    labels = [["name" if label != "O" else "other" for label in row] for row in entities.LABELS]
    task = questions.untraced(entities.token_classifier(labels=["name", "other"]))
    report, shared = agrees(task, entities.WORDS, labels)
    assert shared == {"accuracy"} and np.sum(report["confusion"]["counts"]) == sum(map(len, labels))


@pytest.mark.integration
def test_answers_agree_with_evaluate():
    task = questions.untraced(questions.answerer())
    report, shared = agrees(task, questions.QUESTIONS, questions.ANSWERS, questions.CONTEXTS)
    assert shared == {"exact_match", "f1"}
    assert all(row["label"] in questions.TEXTS for row in report["worst"])


@pytest.mark.integration(quick=["token_classifier-val_f1-1", "<lambda>-val_f1-1"])
@pytest.mark.parametrize(
    ("make", "monitor", "sign"),
    [
        (tiny.classifier, "val_accuracy", 1),
        (lambda: tiny.classifier(problem="regression", labels=["stars"]), "val_mean_absolute_error", -1),
        (lambda: tiny.classifier(problem="multi_label"), "val_f1", 1),
        (lambda: tiny.decoder_classifier(lm_weight=0.5), "val_logits_accuracy", 1),
        (lambda: tiny.classifier(outputs=["hidden_states"]), "val_logits_accuracy", 1),
        (tiny.masked_lm, "val_perplexity", -1),
        (entities.token_classifier, "val_f1", 1),
        (questions.answerer, "val_span_accuracy", 1),
    ],
)
def test_what_epochs_are_judged_by(make, monitor, sign):
    best = make().parts.best_epoch()
    assert (best.monitor, best.sign) == (monitor, sign)
