"""Exports with weights of 8 bits: answers near the model's, the same without XLA, small folders, refusals."""

from __future__ import annotations

import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import tiny
from bare import bare_process
from exports import session_answers
from generating import CORPUS

from keras_transformers.families import gpt2, marian, t5
from keras_transformers.models import decoder
from keras_transformers.tasks import Task
from keras_transformers.tasks.answers.compiled_signatures import UNCOMPILED
from keras_transformers.tasks.exports import int8
from keras_transformers.tasks.exports.int8 import Int8Weights
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.lora import add_lora

TEXTS = ["a warm day", "", " ", "zzz", "a grey room and a bright song", "a day " * 50]
SIZES = {"num_layers": 2, "num_heads": 2, "hidden_dim": 64}


def encoder_task(name: str = "classification", **options) -> Task:
    keras.utils.set_random_seed(0)
    options = {"labels": ["bad", "good"]} | options if name.endswith("classification") else options
    return Task(name, tiny.config(**SIZES), tiny.tokenizer(), **options)


def loaded(task: Task, folder: Path, **options) -> tf.types.experimental.ConcreteFunction:
    task.export(folder, compute="int8", **options)
    model = tf.saved_model.load(str(folder))
    return dict(model.signatures) | {"model": model}


@pytest.fixture(scope="module")
def task() -> Task:
    return encoder_task()


@pytest.fixture(scope="module")
def folder(task, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("serving") / "1"
    before = tiny.weights(task), task.predict(TEXTS)
    task.export(folder, compute="int8", compiled=True)
    after = tiny.weights(task), task.predict(TEXTS)
    assert all((old == new).all() for old, new in zip(before[0], after[0], strict=True)) and before[1] == after[1]
    return folder


@pytest.mark.integration
@pytest.mark.parametrize("name", ["serving_default", "pair"])
def test_answers_are_near_those_of_the_model(task, folder, name):
    signatures = tf.saved_model.load(str(folder)).signatures
    assert {*signatures} == {f"{name}{end}" for name in ("serving_default", "pair") for end in ("", UNCOMPILED)} | {
        "labels"
    }
    for texts in [*([text] for text in TEXTS), TEXTS, []]:
        columns = [texts] if name == "serving_default" else [texts, texts[::-1]]
        inputs = dict(zip(("text", "text_pair"), (tf.constant(column, tf.string) for column in columns), strict=False))
        answer, without_xla = signatures[name](**inputs), signatures[name + UNCOMPILED](**inputs)
        np.testing.assert_allclose(answer["probabilities"], without_xla["probabilities"], atol=2e-3)
        predictions = [[*row["probabilities"].values()] for row in task.predict(*columns)]
        expected = np.reshape(predictions, (-1, 2))
        np.testing.assert_allclose(answer["probabilities"], expected, atol=0.03)
        assert texts == [] or (answer["probabilities"].numpy() != expected).any()


@pytest.mark.integration
def test_bare_processes_and_sessions_answer(task, folder):
    report = bare_process(sys.executable).report(folder, {"serving_default": {"text": TEXTS[:1]}})
    assert "error" not in report, report["error"][-3000:]
    assert report["unknown"] == [] and report["compiled"] > 0
    (expected,) = task.predict(TEXTS[:1])
    expected = [*expected["probabilities"].values()]
    np.testing.assert_allclose(report["answers"]["serving_default"]["probabilities"], [expected], atol=0.03)
    for found in session_answers(folder, TEXTS[0], "probabilities", "serving_default", "serving_default" + UNCOMPILED):
        np.testing.assert_allclose(found, expected, atol=0.03)


@pytest.mark.integration
@pytest.mark.parametrize(
    "name",
    ["token_classification", "question_answering", "sentence_embedding", "masked_lm", "ranking", "multiple_choice"],
)
def test_every_task_that_answers_by_one_pass(name, tmp_path):
    signatures = loaded(encoder_task(name), tmp_path / "1")
    for own in [name for name in signatures if name + UNCOMPILED in signatures]:
        specs = signatures[own].structured_input_signature[1]
        rows = {1: ["a warm day", "it rained"], 2: [["a", "day"], ["grey", "room"]]}
        inputs = {key: tf.constant(rows[spec.shape.rank]) for key, spec in specs.items()}
        answer, without_xla = signatures[own](**inputs), signatures[own + UNCOMPILED](**inputs)
        for key in answer:
            if answer[key].dtype == tf.float32:
                np.testing.assert_allclose(answer[key], without_xla[key], atol=0.03)


def languages_model(kind: str) -> Task:
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer.train(CORPUS, 290, model="byte_pair")
    size, sizes = tokenizer.vocabulary_size, {**SIZES, "max_length": 32, "eos_ids": [tokenizer.eos_id or 0]}
    if kind == "gpt2":
        return Task("causal_lm", gpt2(size, **sizes, initializer_range=0.1), tokenizer)
    if kind == "marian":
        config = marian(size, **sizes, pad_id=0, decoder_start_id=0, initializer_range=0.1)
        return Task("seq2seq_lm", config, tokenizer)
    return Task("seq2seq_lm", t5(size, **sizes, intermediate_dim=128, pad_id=0, decoder_start_id=0), tokenizer)


@pytest.mark.integration
@pytest.mark.parametrize("kind, options", [("gpt2", {"num_beams": 2}), ("marian", {}), ("t5", {"num_beams": 2})])
def test_texts_are_scored_nearly_as_by_the_model(kind, options, tmp_path, monkeypatch):
    monkeypatch.setattr(int8, "LEAST_OF_STEP", 0)
    task, sources, texts = languages_model(kind), ["the cat", "one, two"], [" sat on the mat", ", three."]
    signatures = loaded(task, tmp_path / "1", max_new_tokens=6, **options)
    answer = signatures["serving_default"](text=tf.constant(sources))
    assert answer["num_tokens"].numpy().max() > 0 and [*map(bool, answer["error"].numpy())] == [False, False]
    assert any(variable.dtype == "int8" for variable in signatures["model"].weights)
    scores = signatures["score"](text=tf.constant(sources), continuation=tf.constant(texts))
    expected = [row["log_probability"] for row in task.score(sources, texts)]
    np.testing.assert_allclose(scores["log_probability"], expected, rtol=0.03)


@pytest.mark.integration
def test_small_matrices_stay_where_a_step_reads_one_token():
    model = decoder(gpt2(100, num_layers=1, num_heads=2, hidden_dim=64))
    config = gpt2(100, num_layers=1, num_heads=2, hidden_dim=64)
    assert len(Int8Weights(model, config, 16).matrices) == 7
    assert len(Int8Weights(model, config, 16, least=64 * 256).matrices) == 2
    with pytest.raises(ValueError, match="at least 64 rows and columns and 1,000,000 numbers: the model has none"):
        Int8Weights(model, config, 16, least=10**6)


@pytest.mark.integration
def test_adapters_are_merged_first(tmp_path):
    task = encoder_task()
    plain = loaded(task, tmp_path / "1")["serving_default"](text=tf.constant(TEXTS[:1]))["probabilities"]
    add_lora(task.model, 4)
    for variable in task.model.variables:
        if "lora_kernel_b" in variable.path:
            variable.assign(np.full(variable.shape, 0.5))
    adapted = loaded(task, tmp_path / "2")["serving_default"](text=tf.constant(TEXTS[:1]))["probabilities"]
    (expected,) = task.predict(TEXTS[:1])
    np.testing.assert_allclose(adapted[0], [*expected["probabilities"].values()], atol=0.05)
    assert np.abs(plain - adapted).max() > 0.05


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["bfloat16", "mixed_bfloat16"])
def test_half_precision(dtype, tmp_path):
    task = encoder_task(dtype=dtype)
    answer = loaded(task, tmp_path / "1")["serving_default"](text=tf.constant(TEXTS[:1]))
    (expected,) = task.predict(TEXTS[:1])
    np.testing.assert_allclose(answer["probabilities"][0], [*expected["probabilities"].values()], atol=0.05)


@pytest.mark.integration
def test_a_folder_is_a_third_as_large_or_less(tmp_path):
    config = tiny.config(num_layers=2, num_heads=2, hidden_dim=256)
    task = Task("sentence_embedding", config, tiny.tokenizer())
    sizes = []
    for compute in (None, "int8"):
        task.export(tmp_path / str(compute), compute=compute)
        sizes.append((tmp_path / str(compute) / "variables" / "variables.data-00000-of-00001").stat().st_size)
    assert sizes[1] < sizes[0] / 3


@pytest.mark.parametrize("compute", ["int4", "float32", 8, True, ["int8"]])
def test_unknown_values_are_refused(task, compute, tmp_path):
    with pytest.raises(ValueError, match='compute must be "int8", or None'):
        task.export(tmp_path / "1", compute=compute)
    assert not [*tmp_path.iterdir()]


def test_constants_are_not_rounded(task, tmp_path):
    with pytest.raises(ValueError, match="give one"):
        task.export(tmp_path / "1", compute="int8", frozen=True)


def test_a_model_without_large_matrices_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"the model has none\. Leave it out"):
        tiny.classifier().export(tmp_path / "1", compute="int8")
    assert not [*tmp_path.iterdir()]
