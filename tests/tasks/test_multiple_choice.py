"""Multiple choice: learning, choices of different numbers, exports, folders, and what is refused."""

from __future__ import annotations

import bare
import keras
import pytest
import tensorflow as tf
import tiny

import zoo
from keras_transformers.tasks import Task

QUESTIONS = ["good", "bad"] * 6
CHOICES = [
    [f"a {good} {noun}", f"a {bad} {noun}", f"a {bad} day"]
    for noun in tiny.NOUNS
    for good, bad in zip(tiny.WORDS["good"], tiny.WORDS["bad"], strict=True)
]
RIGHT = [0, 1] * 6


@pytest.fixture(scope="module")
def task():
    keras.utils.set_random_seed(0)
    task = Task("multiple_choice", tiny.config(), tiny.tokenizer())
    choices = [row[:2] for row in CHOICES]
    task.fit(QUESTIONS, RIGHT, pairs=choices, **(tiny.FIT | {"epochs": 20}))
    assert task.evaluate(QUESTIONS, RIGHT, pairs=choices)["accuracy"] == 1.0
    return task


def test_all_that_a_dataset_takes_may_be_iterators(task):
    columns = QUESTIONS, RIGHT, CHOICES
    batches = [
        next(iter(task.dataset(texts, labels, pairs=pairs, shuffle=False)))
        for texts, labels, pairs in (columns, map(iter, columns))
    ]
    assert (batches[0][0]["token_ids"] == batches[1][0]["token_ids"]).numpy().all()
    assert batches[0][1].numpy().tolist() == batches[1][1].numpy().tolist() == RIGHT


@pytest.mark.integration
def test_choices_of_different_numbers(task):
    answers = task.predict(["good", "bad", "good"], [CHOICES[0][:2], CHOICES[1], ["a fine day"]])
    assert [answer["choice"] for answer in answers[::2]] == [0, 0]
    for answer, count in zip(answers, (2, 3, 1), strict=True):
        assert len(answer["probabilities"]) == count
        assert sum(answer["probabilities"]) == pytest.approx(1, abs=1e-5)
    alone = task.predict(["good"], [CHOICES[0][:2]])[0]["probabilities"]
    assert answers[0]["probabilities"] == pytest.approx(alone, abs=1e-6)
    assert task.predict([], []) == []


@pytest.mark.integration
def test_export_in_a_process_of_its_own(task, tmp_path):
    task.export(tmp_path / "1")
    request = {"text": ["good", "bad"], "choices": [CHOICES[0], [*CHOICES[1][:2], ""]]}
    (answer,) = bare.ask(tmp_path / "1", {"serving_default": request}).values()
    answers = task.predict(*request.values())
    assert answer["choice"] == [row["choice"] for row in answers]
    for ours, row, padding in zip(answer["probabilities"], answers, ([], [0.0]), strict=True):
        assert ours == pytest.approx([*row["probabilities"], *padding], abs=1e-5)


@pytest.mark.integration
def test_no_choices_in_a_graph(task):
    signature = task.service.signatures["serving_default"].get_concrete_function()
    answer = signature(text=tf.constant(["a", "b"]), choices=tf.zeros([2, 0], tf.string))
    assert answer["choice"].numpy().tolist() == [0, 0] and answer["probabilities"].shape == (2, 0)
    (answer,) = task.predict(["a"], [["", "film"]])
    assert answer["choice"] == 1 and answer["probabilities"] == [0.0, 1.0]


@pytest.mark.integration
def test_save_and_load(task, tmp_path):
    task.save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model")
    assert loaded.name == "multiple_choice"
    ours, theirs = (one.predict(QUESTIONS, CHOICES)[0]["probabilities"] for one in (task, loaded))
    assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parity
def test_transformers_gives_the_same_logits(task, tmp_path):
    import torch
    import transformers

    task.save(tmp_path / "model")
    reference = transformers.BertForMultipleChoice.from_pretrained(tmp_path / "model").eval()
    inputs = next(iter(task.dataset(QUESTIONS[:3], pairs=[row[:2] for row in CHOICES[:3]], shuffle=False)))[0]
    names = {"input_ids": "token_ids", "token_type_ids": "segment_ids", "attention_mask": "padding_mask"}
    with torch.no_grad():
        theirs = reference(**{their: torch.tensor(inputs[our].numpy()).long() for their, our in names.items()}).logits
    assert theirs.numpy() == pytest.approx(task.model(inputs)["logits"].numpy(), abs=1e-5)


@pytest.mark.parametrize(
    ("pairs", "labels", "message"),
    [
        ([["a", "b"]], [-1], "label -1 in row 0"), (["a"], [0], "received 2 texts a row"),
        (None, [0], "received 1 texts a row"), ([["a", "b"]], [0, 1], "2 labels for 1 rows"),
        ([["a", 3]], [0], r"`pairs\[0\]`, received int"),
    ],
)  # fmt: skip
def test_what_fit_refuses(task, pairs, labels, message):
    with pytest.raises(ValueError, match=message):
        task.fit(["x"], labels, pairs=pairs)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("ab", "list of lists of str"), (5, "list of lists of str for `pairs`, received '5'"),
        ([[]], r"`pairs\[0\]` contains no text"), ([["", ""]], "contains no text"),
        (None, "takes pairs"), ([["a"], ["b"]], "1 texts and 2 pairs"),
    ],
)  # fmt: skip
def test_what_predict_refuses(task, pairs, message):
    with pytest.raises(ValueError, match=message):
        task.predict(["x"], pairs)
