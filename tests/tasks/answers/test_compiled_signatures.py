"""Exports whose answers to single texts XLA computes: equal answers, few programs, refusals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tiny
from bare import bare_process
from exports import session_answers, warm_up_requests

from keras_transformers.tasks import Task
from keras_transformers.tasks.answers import compiled_signatures
from keras_transformers.tasks.answers.compiled_signatures import UNCOMPILED, check_fixed_sizes, compiled
from keras_transformers.tasks.answers.readers import GraphReader
from keras_transformers.tasks.answers.signatures import Signature
from keras_transformers.tasks.exports.compiled_lengths import compiled_lengths

TEXTS = ["a warm day", "", " ", "zzz", "a grey room and a bright song", "a day " * 50]
BATCHES = [*([text] for text in TEXTS), TEXTS, []]


@pytest.fixture(scope="module")
def task() -> Task:
    return tiny.classifier()


@pytest.fixture(scope="module")
def folder(task, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("serving") / "1"
    task.export(folder, compiled=True)
    return folder


def embedder(**options) -> Task:
    return Task("sentence_embedding", tiny.config(), tiny.tokenizer(), **options)


def padded_sizes(task: Task, name: str, requests: list[dict[str, list[str]]]) -> Iterator[int]:
    """The length of the row of each request of one text."""
    answers = task.parts.answers
    reader = GraphReader(answers.setup.text_graph, task.max_length, padded=True)
    signature = answers.signatures[name]
    for request in requests:
        encoded = signature.read(reader, *(tf.constant(request[key]) for key in signature.inputs))
        yield int(tf.shape(encoded["token_ids"])[1])


@pytest.mark.integration
@pytest.mark.parametrize("name", ["serving_default", "pair"])
def test_answers_are_those_without_xla(folder, name):
    signatures = tf.saved_model.load(str(folder)).signatures
    for texts in BATCHES:
        columns = {"text": texts} if name == "serving_default" else {"text": texts, "text_pair": texts[::-1]}
        inputs = {key: tf.constant(column, tf.string) for key, column in columns.items()}
        answer, expected = signatures[name](**inputs), signatures[name + UNCOMPILED](**inputs)
        np.testing.assert_allclose(answer["probabilities"], expected["probabilities"], atol=1e-5)
        for key in ("label", "truncated"):
            assert answer[key].numpy().tolist() == expected[key].numpy().tolist()


@pytest.mark.integration
def test_a_bare_process_answers(task, folder):
    inputs, (expected,) = {"text": TEXTS[:1]}, task.predict(TEXTS[:1])
    report = bare_process(sys.executable).report(folder, {"serving_default": inputs})
    assert "error" not in report, report["error"][-3000:]
    assert report["unknown"] == [] and report["compiled"] > 0
    answer = report["answers"]["serving_default"]
    assert answer["label"] == [expected["label"]]
    np.testing.assert_allclose(answer["probabilities"], [[*expected["probabilities"].values()]], atol=1e-5)


@pytest.mark.integration
def test_a_session_answers_too(folder):
    compiled, expected = session_answers(
        folder, TEXTS[0], "probabilities", "serving_default", "serving_default_uncompiled"
    )
    np.testing.assert_allclose(compiled, expected, atol=1e-5)


@pytest.mark.integration
def test_warm_up_requests_are_of_every_length(task, folder):
    requests: dict[str, list] = {}
    for name, inputs in warm_up_requests(folder):
        requests.setdefault(name, []).append({key: value.numpy() for key, value in inputs.items()})
    assert {*requests} == {"serving_default", "pair", "serving_default_uncompiled", "pair_uncompiled", "ids"}
    for name in ("serving_default", "pair"):
        assert {*padded_sizes(task, name, requests[name])} == {*compiled_lengths(task.max_length)}


@pytest.mark.integration
def test_requests_count_the_tokens_of_prompts():
    """The prompt and the special tokens are 8 tokens or more: no row of a query is shorter."""
    task = embedder(prompts={"query": "a warm day a grey day: ", "document": ""})
    requests = compiled_signatures.compiling_requests(
        task.parts.answers.signatures, GraphReader(task.parts.answers.setup.text_graph, 16), 16
    )
    assert {*requests} == {"serving_default", "query", "document", "prompted"}  # `similarity` reads two texts
    for name, sizes in {
        "query": {10, 12, 14, 16},
        "document": {8, 10, 12, 14, 16},
        "prompted": {8, 10, 12, 14, 16},
    }.items():
        assert {*padded_sizes(task, name, requests[name])} == sizes


@pytest.mark.integration
@pytest.mark.parametrize(
    "name, told",
    [
        ("token_classification", "in the signature 'serving_default' depends on the text"),
        ("multiple_choice", "take lists"),
        ("question_answering", "read windows of a text"),
    ],
)
def test_answers_of_any_size_are_refused(name, told, tmp_path):
    options = {"labels": ["O", "B-x"]} if name == "token_classification" else {}
    task = Task(name, tiny.config(), tiny.tokenizer(), **options)
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").write_text("old")
    with pytest.raises(ValueError, match=f"{told}.*Leave compiled out"):
        task.export(tmp_path / "1", compiled=True)
    assert [(path.name, path.read_text()) for path in (tmp_path / "1").iterdir()] == [("saved_model.pb", "old")]


@pytest.mark.parametrize("shape", [(None, None), (None, 2, None)])
def test_sizes_must_be_known(shape):
    given = [tf.TensorSpec(shape, name="text")]
    function = tf.function(lambda given: {"fixed": given[:, 0], "scores": given}, input_signature=given)
    with pytest.raises(ValueError, match=r"scores in the signature 'serving_default' depends on the text"):
        check_fixed_sizes({"serving_default": function}, ["serving_default"])
    with pytest.raises(ValueError, match="zero_shot take lists"):
        check_fixed_sizes({"zero_shot": function}, [])


@pytest.mark.integration
def test_only_one_short_row_is_compiled():
    """The function is traced once for each length; without XLA it runs as it is, here eagerly."""
    traced = []

    def compute(encoded):
        traced.append(not tf.executing_eagerly())
        return {"sum": sum(tf.reduce_sum(tokens, axis=1) for tokens in tf.nest.flatten(encoded))}

    signature = compiled(Signature(("text",), lambda reader, texts: texts, compute))
    for shape in [(1, 4), (1, 512), (1, 4), (1, 513), (2, 4), (0, 4)]:
        answer = signature.compute({"token_ids": tf.ones(shape, "int32")})
        assert answer["sum"].numpy().tolist() == [shape[1]] * shape[0]
    assert traced == [True, True, False, False, False]
    signature.compute(({"token_ids": tf.ones((1, 4), "int32")},) * 2)  # two texts, of a length each
    assert traced[5:] == [False]


@pytest.mark.parametrize(
    "frozen, compiled, message",
    [
        (False, "yes", "compiled must be True or False: received 'yes'"),
        (False, 1, "received 1"),
        (True, True, "give one"),
    ],
)
def test_wrong_choices(task, frozen, compiled, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        task.export(tmp_path / "1", frozen=frozen, compiled=compiled)
