"""Ranking by pairs: both losses, answers, exports, folders of cross-encoders, and what is refused."""

from __future__ import annotations

import json

import bare
import keras
import pytest
import tensorflow as tf
import tiny

import zoo
from keras_transformers.families import gpt2
from keras_transformers.tasks import Task

GOOD, BAD = (
    [text for text, label in zip(tiny.TEXTS, tiny.LABELS, strict=True) if label == name] for name in tiny.NAMES[::-1]
)
QUERIES = ["good", "bad"] * 6
LISTS = {"pairs": [[good, bad] for good, bad in zip(GOOD, BAD, strict=True)], "labels": [0, 1] * 6}
PAIRS = {
    "texts": ["good", "good", "bad", "bad"] * 6,
    "pairs": [text for good, bad in zip(GOOD[:6], BAD[:6], strict=True) for text in (good, bad, good, bad)],
    "labels": [1, 0, 0, 1] * 6,
}


def make(**options) -> Task:
    keras.utils.set_random_seed(0)
    return Task("ranking", tiny.config(), tiny.tokenizer(), **options)


@pytest.fixture(scope="module")
def task():
    task = make()
    task.fit(**PAIRS, **(tiny.FIT | {"epochs": 30}))
    return task


@pytest.mark.integration
def test_pairs_by_themselves(task):
    assert task.evaluate(**PAIRS)["binary_accuracy"] == 1.0
    answers = task.predict(["good", "bad"], ["a fine day", "a fine day"])
    assert answers[0]["probability"] > 0.5 > answers[1]["probability"]
    assert answers[0]["probability"] == pytest.approx(1 / (1 + 2.718281828 ** -answers[0]["score"]), rel=1e-5)


@pytest.mark.integration
def test_lists():
    task = make(loss="listwise")
    task.fit(QUERIES, **LISTS, **tiny.FIT)
    assert task.evaluate(QUERIES, **LISTS)["accuracy"] == 1.0
    assert [hit["text"] for hit in task.rank("good", [*BAD[:3], GOOD[0]], top=1)] == [GOOD[0]]


@pytest.mark.integration
def test_rank_is_sorted_by_score(task):
    hits = task.rank("bad", [*GOOD[:3], *BAD[:3]])
    assert {hit["text"] for hit in hits[:3]} == set(BAD[:3]) and len(hits) == 6
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert task.rank("bad", []) == []
    assert task.rank("bad", iter([*GOOD[:3], *BAD[:3]])) == hits
    with pytest.raises(ValueError, match="Expected a list of str for `documents`, received int"):
        task.rank("bad", 5)


@pytest.mark.integration
def test_export_in_a_process_of_its_own(task, tmp_path):
    task.export(tmp_path / "1")
    request = {"text": QUERIES[:4], "text_pair": [GOOD[0], BAD[0], "", "film " * 30]}
    (answer,) = bare.ask(tmp_path / "1", {"serving_default": request}).values()
    answers = task.predict(*request.values())
    for name in ("score", "probability"):
        assert answer[name] == pytest.approx([row[name] for row in answers], abs=1e-5)
    assert answer["truncated"] == [False, False, False, True]


@pytest.mark.integration
def test_a_folder_is_that_of_a_cross_encoder(task, tmp_path):
    task.save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text())
    assert config["architectures"] == ["BertForSequenceClassification"] and len(config["id2label"]) == 1
    loaded = zoo.load(tmp_path / "model", "ranking")
    scores = [row["score"] for row in loaded.predict(QUERIES[:2], GOOD[:2])]
    assert scores == pytest.approx([row["score"] for row in task.predict(QUERIES[:2], GOOD[:2])], abs=1e-5)
    assert zoo.load(tmp_path / "model").predict(QUERIES[:1], GOOD[:1])[0]["score"] == pytest.approx(scores[0])

    path.write_text(json.dumps(config | {"zoo_task": {}}))  # as transformers writes it
    (path.parent / "modules.json").unlink()
    answer = zoo.load(tmp_path / "model").predict(QUERIES[:1], GOOD[:1])[0]
    assert answer["scores"]["LABEL_0"] == pytest.approx(scores[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": "tanh"}, "activation must be one of .*'sigmoid'.*: received 'tanh'"),
        ({"dense": [{"units": 1}]}, "follow a pooling"), ({"pooling": "least"}, "pooling must be one"),
        ({"pooling": "mean"}, "dense has to end in a layer of 1 units"), ({"score_tokens": [1]}, "are for a decoder"),
        ({"pooling": "mean", "dense": [{"units": 2}]}, "dense has to end in a layer of 1 units, one for each score"),
        ({"default_prompt": "query"}, "default_prompt must be"), ({"prompts": ["a"]}, "prompts are texts by name"),
    ],
)  # fmt: skip
def test_options_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_a_decoder_needs_its_tokens():
    tokenizer = tiny.byte_tokenizer()
    config = gpt2(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=16, max_length=16)
    for options in ({}, {"score_tokens": []}, {"score_tokens": [1, 2, 3]}, {"score_tokens": [10**6]}):
        with pytest.raises(ValueError, match="a decoder scores a pair by the token that follows it: score_tokens"):
            Task("ranking", config, tokenizer, **options)
    with pytest.raises(ValueError, match="pooling and dense are for encoders"):
        Task("ranking", config, tokenizer, pooling="last", dense=[{"units": 1}])


@pytest.mark.integration
def test_a_default_prompt_is_learned_with():
    """What `fit` reads is what `predict` reads: the same score for a query with the prompt written out."""
    task, plain = make(prompts={"query": "good "}, default_prompt="query"), make()
    query, documents = (
        {"texts": ["day"], "labels": [1], "pairs": ["a film"]},
        {"texts": ["good day"], "labels": [1], "pairs": ["a film"]},
    )
    for one, rows in ((task, query), (plain, documents)):
        one.fit(**rows, **(tiny.FIT | {"epochs": 1}))
    expected = plain.predict(["good day"], ["a film"])[0]["score"]
    assert task.predict(["day"], ["a film"])[0]["score"] == pytest.approx(expected, abs=1e-5)
    assert task.rank("good day", ["a film"], prompt_text="")[0]["score"] == pytest.approx(expected, abs=1e-5)


def test_a_classifier_of_other_labels_is_not_kept(trained, tmp_path):
    trained.save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model", "ranking")
    assert loaded.model.output["logits"].shape == (None, 1)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({}, {"texts": ["a"], "labels": [1]}, "ranking takes pairs"),
        ({}, {"texts": ["a"], "pairs": ["b"]}, "needs labels"),
        ({}, {"texts": ["a"], "pairs": ["b"], "labels": [2]}, "expected a number from 0 to 1"),
        ({}, {"texts": ["a"], "pairs": ["b"], "labels": ["x"]}, r"numbers from 0 to 1, one per pair: received 'x'"),
        ({}, {"texts": ["a"], "pairs": ["b"], "labels": 1}, "a list of labels, one per row: received '1'"),
        ({}, {"texts": ["a", "b"], "pairs": ["b"], "labels": [1, 0]}, "texts and 1 pairs|one pair for each text|pairs"),
        ({"loss": "listwise"}, {"texts": ["a"], "pairs": ["b"], "labels": [0]}, "received 2 texts a row"),
        ({"loss": "listwise"}, {"texts": ["a"], "pairs": [["b", "c"]], "labels": [2]}, "label 2 in row 0: .* 0 to 1"),
        ({"loss": "listwise"}, {"texts": ["a"], "pairs": [["b", "c"]], "labels": [0.5]}, "numbers of the right"),
    ],
)  # fmt: skip
def test_what_fit_refuses(options, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**options).fit(**arguments)


@pytest.mark.integration
def test_texts_alone_are_refused(task):
    with pytest.raises(ValueError, match="ranking takes pairs: received texts alone"):
        task.predict(["a"])
    with pytest.raises(ValueError, match="loss must be one of"):
        make(loss="hinge")
    signature = task.service.signatures["serving_default"].get_concrete_function()
    with pytest.raises(tf.errors.InvalidArgumentError, match="text_pair must have one row for each text"):
        signature(text=tf.constant(["a", "b"]), text_pair=tf.constant(["a"]))
