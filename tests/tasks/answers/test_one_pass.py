"""Texts to answers by one pass: what `predict` gives is what the service, and so the export, computes."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import questions
import tensorflow as tf
import tiny

from keras_transformers.tasks import Task

TEXTS = ["a fine film", "", "a dull day " * 9, "song"]


def numbers_of(answer) -> list[float]:
    """All numbers in what `predict` says of a row, in order."""
    values = [value for value in keras.tree.flatten(answer) if not isinstance(value, str)]
    return np.concatenate([np.ravel(value) for value in values]).tolist()


@pytest.mark.integration
@pytest.mark.parametrize("make", [tiny.classifier, tiny.decoder_classifier, tiny.masked_lm])
def test_python_reads_as_the_graph_does(make):
    """The reader of the backends without TensorFlow, beside the traced one."""
    task = make()
    answers = task.parts.answers
    texts = ["a [MASK] film", "[MASK] [MASK]"] if task.name == "masked_lm" else TEXTS
    traced, eager = (service.run("serving_default", [texts]) for service in (answers.service, questions.Untraced(task)))
    assert traced.keys() == eager.keys()
    for name, column in traced.items():
        if column.dtype == object:
            assert column.tolist() == eager[name].tolist()
        else:
            np.testing.assert_allclose(column, eager[name], atol=1e-5)


@pytest.mark.integration
def test_a_batch_at_a_time():
    task = tiny.classifier()
    whole, parts = task.predict(TEXTS), task.predict(TEXTS, batch_size=1)
    for one, other in zip(whole, parts, strict=True):
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-6)
        assert one["truncated"] == other["truncated"]
    assert task.predict([]) == []


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("one text",), {}, "received one str"), ((["a"], ["b", "c"]), {}, "1 texts and 2 pairs"),
        ((["a"],), {"batch_size": 0}, "batch_size must be at least 1"),
        ((["a"],), {"batch_size": 1.5}, "batch_size must be at least 1, and whole: received {'batch_size': 1.5}"),
        ((None,), {}, "received NoneType"), ((5,), {}, "received int"), (({"a": 1},), {}, "received dict"),
    ],
)  # fmt: skip
def test_what_is_refused(trained, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        trained.predict(*arguments, **options)


@pytest.mark.integration
def test_the_service_has_a_signature_for_pairs_where_a_task_takes_them(trained):
    assert set(trained.service.signatures) == {"serving_default", "pair"}
    assert set(tiny.masked_lm().service.signatures) == {"serving_default"}


@pytest.mark.integration
@pytest.mark.parametrize("pairs", [["b"], [], ["b"] * 3])
def test_pairs_of_a_request_are_as_many_as_its_texts(trained, pairs):
    signature = trained.service.signatures["pair"].get_concrete_function()
    with pytest.raises(tf.errors.InvalidArgumentError, match="text_pair must have one row for each text"):
        signature(text=tf.constant(["a", "b"]), text_pair=tf.constant(pairs, tf.string))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "options", "pair"),
    [
        ("token_classification", {"labels": ["O", "B-x", "I-x"]}, None), ("sentence_embedding", {}, None),
        ("ranking", {}, "film"), ("question_answering", {}, "a fine film"), ("multiple_choice", {}, ["film", "day"]),
    ],
)  # fmt: skip
def test_a_megabyte_of_one_letter_does_not_disturb_its_neighbours(name, options, pair):
    """One long word; a long row of marks; and as a long document beside the second text of a pair."""
    keras.utils.set_random_seed(0)
    task = Task(name, tiny.config(), tiny.tokenizer(), **options)
    texts = ["a" * 1_000_000, "e" + "\u0301" * 500_000, "a song"]
    pairs = None if pair is None else [pair] * 3
    answers = task.predict(texts, pairs)
    alone = task.predict(texts[2:], None if pair is None else pairs[2:])
    # The first two are an unknown word, or a letter, to the tokenizer: neither fills the model's 16 tokens.
    assert [answer["truncated"] for answer in answers] == [False] * 3
    assert numbers_of(answers[2]) == pytest.approx(numbers_of(alone[0]), abs=1e-5)
