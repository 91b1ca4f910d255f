from __future__ import annotations

import numpy as np
import pytest
import tiny
from tiny import NAMES, NUMBERS, TEXTS, softmax

from keras_transformers.tasks import Task
from keras_transformers.training.metrics.target_metrics import F1


@pytest.mark.parametrize(
    "labels, problem, message",
    [
        (None, None, "needs labels"),
        ([], None, "different strings"),
        (["a", "a"], None, "different strings"),
        (["a", ""], None, "different strings"),
        (0, None, "positive number"),
        (1, None, "problem='regression'"),
        (NAMES, "ranking", "'ranking'"),
    ],
)
def test_construction_errors(labels, problem, message):
    with pytest.raises(ValueError, match=message):
        tiny.classifier(labels, problem=problem)


def test_labels_as_a_number():
    assert tiny.classifier(3).labels == ("LABEL_0", "LABEL_1", "LABEL_2")


def labels_of(task, labels):
    texts = TEXTS[: len(labels)]
    return tiny.outputs(task, task.dataset(texts, labels, shuffle=False))[1].numpy().tolist()


@pytest.mark.integration
def test_labels_by_name_or_number(trained):
    assert labels_of(trained, ["bad", "good"]) == labels_of(trained, [0, 1]) == [0, 1]
    assert labels_of(trained, np.array(["good", "bad"])) == [1, 0]
    with pytest.raises(ValueError, match=r"'nice'.*\['bad', 'good'\]"):
        trained.dataset(TEXTS[:2], ["bad", "nice"])
    with pytest.raises(ValueError, match="label 2"):
        trained.dataset(TEXTS[:2], [0, 2])
    with pytest.raises(ValueError, match="1 labels for 2"):
        trained.dataset(TEXTS[:2], [0])


@pytest.mark.integration
def test_several_labels_by_name_or_number():
    task = tiny.classifier(["a", "b", "c"], problem="multi_label")
    assert labels_of(task, [["c", "a"], []]) == labels_of(task, [[1, 0, 1], [0, 0, 0]]) == [[1, 0, 1], [0, 0, 0]]
    with pytest.raises(ValueError, match="'d'"):
        task.dataset(TEXTS[:1], [["d"]])
    with pytest.raises(ValueError, match=r"pass \[\['a'\]"):
        task.dataset(TEXTS[:1], ["a"])
    with pytest.raises(ValueError, match="3 number"):
        task.dataset(TEXTS[:2], [1, 0])


@pytest.mark.integration
def test_fit_learns(trained):
    assert trained.history["loss"][-1] < 0.3 * trained.history["loss"][0]
    assert trained.evaluate(TEXTS, NUMBERS)["accuracy"] == 1.0


@pytest.mark.integration
def test_evaluate_is_exact_with_a_partial_batch():
    task = tiny.classifier()
    logits = tiny.outputs(task, task.dataset(TEXTS, NUMBERS, batch_size=64, shuffle=False))[0]["logits"]
    entropy = -np.log(softmax(logits)[np.arange(len(TEXTS)), NUMBERS]).mean()
    accuracy = (logits.argmax(axis=1) == NUMBERS).mean()
    results = task.evaluate(TEXTS, NUMBERS, batch_size=7)
    assert results == pytest.approx({"accuracy": accuracy, "cross_entropy": entropy}, abs=1e-5)


@pytest.mark.integration
def test_predict_is_the_model(trained):
    logits = tiny.outputs(trained, trained.dataset(TEXTS, NUMBERS, batch_size=64, shuffle=False))[0]["logits"]
    answers = trained.predict(TEXTS, batch_size=10)
    assert [answer["label"] for answer in answers] == list(tiny.LABELS)
    probabilities = [[answer["probabilities"][name] for name in NAMES] for answer in answers]
    np.testing.assert_allclose(probabilities, softmax(logits), atol=1e-5)


@pytest.mark.integration
def test_predict_pairs(trained):
    pairs = list(reversed(TEXTS))
    dataset = trained.dataset(TEXTS, NUMBERS, pairs=pairs, batch_size=64, shuffle=False)
    probabilities = softmax(tiny.outputs(trained, dataset)[0]["logits"])
    answers = trained.predict(TEXTS, pairs)
    np.testing.assert_allclose([answer["probabilities"]["good"] for answer in answers], probabilities[:, 1], atol=1e-5)
    with pytest.raises(ValueError, match="24 texts and 1 pairs"):
        trained.predict(TEXTS, ["one"])


@pytest.mark.integration
def test_predict_edges(trained):
    assert trained.predict([]) == []
    fine, empty, long = trained.predict(["a fine film", "", "film " * 30])
    assert [fine["truncated"], empty["truncated"], long["truncated"]] == [False, False, True]
    assert long["probabilities"] == pytest.approx(trained.predict(["film " * 14])[0]["probabilities"], abs=1e-6)
    for texts in ("a fine film", ["a", 1]):
        with pytest.raises(ValueError, match="list of str"):
            trained.predict(texts)
    with pytest.raises(ValueError, match="batch_size"):
        trained.predict(TEXTS, batch_size=-1)


@pytest.mark.integration
def test_several_labels():
    task = tiny.classifier(["bad", "good", "dull"], problem="multi_label")
    labels = [[name, *(["dull"] if "dull" in text else [])] for text, name in zip(TEXTS, tiny.LABELS, strict=True)]
    task.fit(TEXTS, labels, **tiny.FIT)
    logits, targets = tiny.outputs(task, task.dataset(TEXTS, labels, batch_size=64, shuffle=False))
    right, chosen = targets.numpy() == 1, logits["logits"] > 0
    results = task.evaluate(TEXTS, labels, batch_size=7)
    f1 = 2 * (right & chosen).sum() / (right.sum() + chosen.sum())
    assert results == pytest.approx({"binary_accuracy": (right == chosen).mean(), "f1": f1}, abs=1e-5)
    assert results["f1"] > 0.9
    task.compile(metrics=[F1(average=None, name="f1_by_label"), F1()])
    by_label = task.evaluate(TEXTS, labels)["f1_by_label"]
    f1 = [2 * (r & c).sum() / (r.sum() + c.sum()) for r, c in zip(right.T, chosen.T, strict=True)]
    assert isinstance(by_label, list) and by_label == pytest.approx(f1, abs=1e-5)
    answer = task.predict(["a fine song"])[0]
    assert answer["labels"] == ["good"] and set(answer["probabilities"]) == {"bad", "good", "dull"}


@pytest.mark.integration
def test_regression():
    task = tiny.classifier(["stars"], problem="regression")
    stars = [5.0 if name == "good" else 1.0 for name in tiny.LABELS]
    task.fit(TEXTS, stars, **(tiny.FIT | {"epochs": 40, "learning_rate": 5e-3}))  # any seed learns it
    scores = np.array([answer["scores"]["stars"] for answer in task.predict(TEXTS)])
    results = task.evaluate(TEXTS, stars, batch_size=7)
    expected = {"mean_absolute_error": np.abs(scores - stars).mean(), "pearson": np.corrcoef(scores, stars)[0, 1]}
    assert results == pytest.approx(expected, abs=1e-4)
    assert results["pearson"] > 0.99
    with pytest.raises(ValueError, match="nan"):
        task.dataset(TEXTS[:1], [float("nan")])


@pytest.mark.integration
def test_class_weight():
    task = tiny.classifier()
    task.fit(TEXTS, NUMBERS, class_weight={0: 0.0, 1: 1.0}, **tiny.FIT)
    assert {answer["label"] for answer in task.predict(TEXTS)} == {"good"}


def test_an_encoder_reads_its_texts_as_its_tokenizer_writes_them():
    """RoBERTa has an id that ends texts, and its post-processor writes it already; only decoders get one more."""
    made = Task(
        "classification", tiny.config(eos_ids=[2]), tiny.tokenizer(), labels=["no", "yes"], made_for="masked_lm"
    )
    assert made.tokenizer is tiny.tokenizer()
