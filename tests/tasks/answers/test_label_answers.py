"""What a classifier answers, from logits and from probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import tiny

from keras_transformers.tasks.answers.label_answers import describe_labels, name_labels, number_labels
from keras_transformers.tasks.inputs.labels import Labels

NAMES = ("bad", "fair", "good")
LOGITS = np.log([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]).astype("float32")


def answered(classes, *scores, **options):
    return name_labels(classes, number_labels(classes, *scores, **options))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_one_label_a_text(dtype):
    answer = answered(Labels(NAMES, "single_label"), tf.constant(LOGITS, dtype))
    assert answer["label"].numpy().tolist() == [b"bad", b"fair"]
    np.testing.assert_allclose(answer["probabilities"], np.exp(LOGITS), atol=1e-3 if dtype == "float16" else 1e-6)
    given = answered(Labels(NAMES, "single_label"), tf.constant(np.exp(LOGITS)), from_logits=False)
    np.testing.assert_array_equal(given["probabilities"], np.exp(LOGITS))
    assert given["label"].numpy().tolist() == [b"bad", b"fair"]


@pytest.mark.parametrize("from_logits", [True, False])
def test_any_number_of_labels(from_logits):
    probabilities = np.array([[0.9, 0.5, 0.2], [0.1, 0.2, 0.3]], "float32")
    scores = np.log(probabilities / (1 - probabilities)) if from_logits else probabilities
    answer = answered(Labels(NAMES, "multi_label"), tf.constant(scores), from_logits)
    assert answer["labels"].numpy().tolist() == [[b"bad", b"fair", b""], [b""] * 3]
    np.testing.assert_allclose(answer["probabilities"], probabilities, atol=1e-6)


@pytest.mark.parametrize("make", [tf.constant, np.array])
def test_of_many_labels_those_that_apply_come_first(make, monkeypatch):
    """Texts of 2, 0 and 3 labels: (3, 3) names, whatever the number of labels; fewer texts, or none, need fewer."""
    if make is np.array:  # as on other backends
        monkeypatch.setattr("keras_transformers.tasks.answers.label_answers.on_tensorflow", lambda: False)
        monkeypatch.setattr("keras_transformers.tasks.answers.signatures.on_tensorflow", lambda: False)
    many = Labels(tuple(f"n{number}" for number in range(1_001)), "multi_label")
    numbers = np.full((3, 1_001), -1)
    for row, found in enumerate([[7, 1_000], [], [0, 3, 500]]):
        numbers[row, found] = found
    expected = [["n7", "n1000", ""], [""] * 3, ["n0", "n3", "n500"]]
    for rows in (3, 2, 0):
        names = np.asarray(name_labels(many, {"labels": make(numbers[:rows])})["labels"])
        assert [[getattr(name, "decode", lambda name=name: name)() for name in row] for row in names] == [
            row[:rows] for row in expected[:rows]
        ]
        assert names.shape == (rows, rows)
    wide = name_labels(Labels(NAMES, "multi_label"), {"labels": make(np.full((2, 3), -1))})["labels"]
    assert np.asarray(wide).shape == (2, 3)


def test_numbers():
    classes = Labels(NAMES, "regression")
    assert answered(classes, tf.constant([[1, 2, 3]])).keys() == {"scores"}
    row = {"scores": np.array([1.0, 2.0, 3.0]), "truncated": False}
    assert describe_labels(classes)(row) == {"scores": {"bad": 1.0, "fair": 2.0, "good": 3.0}}


def test_the_likeliest_of_many_labels():
    """Of up to 1,000 labels all are described; of more the 100 likeliest, or as many as are asked for."""
    many = Labels(tuple(f"n{number}" for number in range(1_001)), "single_label")
    values = np.zeros(1_001, np.float32)
    values[[7, 900, 3]] = 0.5, 0.3, 0.2
    row = {"label": "n7", "probabilities": values}
    found = describe_labels(many)(row)["probabilities"]
    assert len(found) == 100 and [*found][:5] == ["n7", "n900", "n3", "n0", "n1"]  # of equal ones the first
    assert describe_labels(many, 2)(row) == {"label": "n7", "probabilities": {"n7": 0.5, "n900": float(values[900])}}
    whole = describe_labels(many, 1_001)(row)["probabilities"]
    assert [*whole] == [*many.names] and describe_labels(many, 5_000)(row)["probabilities"] == whole
    few = Labels(many.names[:1_000], "single_label")
    assert len(describe_labels(few)({"probabilities": values[:1_000]})["probabilities"]) == 1_000
    broken = describe_labels(many, 2)({"probabilities": np.full(1_001, np.nan)})["probabilities"]
    assert [*broken] == ["n0", "n1"] and all(map(np.isnan, broken.values()))


@pytest.mark.integration
@pytest.mark.parametrize("problem", ["single_label", "multi_label"])
def test_an_export_of_many_labels_gives_the_likeliest(problem, tmp_path):
    task = tiny.classifier([f"n{number}" for number in range(1_001)], problem=problem)
    texts = tiny.TEXTS[:3]
    task.export(tmp_path / "1")
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    served = signatures["top"](text=tf.constant(texts))
    assert served["labels"].shape == served["probabilities"].shape == (3, 100)
    assert signatures["top_pair"](text=tf.constant(texts), text_pair=tf.constant(texts))["labels"].shape == (3, 100)
    if problem == "multi_label":
        named = signatures["serving_default"](text=tf.constant(texts))["labels"].numpy()
        assert named.shape[1] == max(len(row["labels"]) for row in task.predict(texts)) < 1_001
        assert [[name.decode() for name in row if name] for row in named] == [
            row["labels"] for row in task.predict(texts)
        ]
    for row, names, values in zip(task.predict(texts), served["labels"], served["probabilities"], strict=True):
        assert [*row["probabilities"]] == [name.decode() for name in names.numpy()]
        np.testing.assert_allclose([*row["probabilities"].values()], values, atol=1e-6)
    (row,) = task.predict(texts[:1], top=1)
    assert len(row["probabilities"]) == 1 and len(task.predict(texts[:1], top=2_000)[0]["probabilities"]) == 1_001
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="top must be at least 1, and whole"):
            task.predict(texts, top=wrong)


@pytest.mark.integration
def test_top_is_for_probabilities():
    task = tiny.classifier(["stars"], problem="regression")
    with pytest.raises(ValueError, match="a regression has scores: received 3"):
        task.predict(["a film"], top=3)
    assert "top" not in tiny.classifier().parts.answers.signatures
