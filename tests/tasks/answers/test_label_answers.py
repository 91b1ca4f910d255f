"""What a classifier answers, from logits and from probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

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


def test_numbers():
    classes = Labels(NAMES, "regression")
    assert answered(classes, tf.constant([[1, 2, 3]])).keys() == {"scores"}
    row = {"scores": np.array([1.0, 2.0, 3.0]), "truncated": False}
    assert describe_labels(classes)(row) == {"scores": {"bad": 1.0, "fair": 2.0, "good": 3.0}}
