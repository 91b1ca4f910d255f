"""Loops that XLA compiles: the texts and scores of the plain loop, few programs, refusals."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from bare import bare_process
from exports import session_answers, warm_up_requests
from generating import PROMPTS, Generator, causal_lm, ids_of, language_model, lively
from small_decoders import small_config
from translating import seq2seq_lm, text_of

from keras_transformers.generation.program import make_program
from keras_transformers.generation.request import make_request
from keras_transformers.generation.sampling import _running_sum, keep_top
from keras_transformers.generation.serving.columns import padded_request
from keras_transformers.generation.serving.compiled_loop import compiled, padded_length, padded_lengths, power_of_two
from keras_transformers.tasks import Task
from keras_transformers.utils.static_shapes import static_shapes

FAMILIES = ["gpt2", "gemma3_text", "mistral", "lfm2", "qwen3_5_text", "lstm"]  # of each kind of cache
TEXTS = ["the cat", "", "naïve 😀 smile", "one, two, three. " * 20, "a"]


@pytest.fixture(scope="module")
def task() -> Task:
    return causal_lm()


@pytest.fixture(scope="module")
def folder(task, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("serving") / "1"
    task.export(folder, compiled=True, max_new_tokens=12)
    return folder


def generators(family: str) -> list[Generator]:
    """With the plain loop and with the compiled one, over one model."""
    config = small_config(family, vocabulary_size=30, max_length=48, eos_ids=[0], tie_embeddings=family == "gpt2")
    plain = Generator(config, lively(language_model(config)))
    by_xla = Generator(config, plain.model)
    program = make_program(config, plain.model, plain.program.token_bytes, plain.program.project)
    by_xla.program = compiled(program, 48)
    return [plain, by_xla]


def check_equal(found: dict, expected: list[dict]) -> None:
    """Columns of a signature, and what `predict` returns."""
    for key in ("generated_text", "error"):
        assert [value.decode() for value in found[key].numpy().ravel()] == [row[key] for row in expected]
    assert found["truncated"].numpy().tolist() == [row["truncated"] for row in expected]
    np.testing.assert_allclose(found["score"].numpy().ravel(), [row["score"] for row in expected], atol=1e-3)


@pytest.mark.integration
@pytest.mark.parametrize("family", FAMILIES)
def test_texts_are_those_of_the_plain_loop(family):
    plain, by_xla = generators(family)
    expected, answers = plain(PROMPTS), by_xla(PROMPTS)
    assert ids_of(answers) == ids_of(expected)
    scores = [[[text.score for text in texts] for texts in each] for each in (answers, expected)]
    np.testing.assert_allclose(*scores, atol=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [
        {"num_beams": 3, "sequences": 2, "length_penalty": 0.5},
        {"repetition_penalty": 1.3, "no_repeat_ngram": 2, "min_new_tokens": 4, "bias": {5: 3.0}},
        {"stop": ["IB", "EE"], "max_new_tokens": [3, 12, 7]},
        {"prefix": [4, 9, 13, 2, 8]},
    ],
)
def test_so_are_beams_penalties_stops_and_texts_behind_a_prefix(options):
    plain, by_xla = generators("gpt2")
    expected, answers = plain(PROMPTS, **options), by_xla(PROMPTS, **options)
    assert ids_of(answers) == ids_of(expected)
    assert [[text.kept for text in texts] for texts in answers] == [[t.kept for t in texts] for texts in expected]


@pytest.mark.integration
def test_samples_are_of_the_same_distribution():
    """XLA draws other numbers from a seed: the shares of first tokens are near the softmax."""
    _, by_xla = generators("gpt2")
    answers = by_xla([PROMPTS[0]] * 512, temperature=1.0, seed=list(range(512)), max_new_tokens=1)
    shares = np.bincount([texts[0].ids[0] if texts[0].ids else 0 for texts in answers], minlength=30) / 512
    assert np.abs(shares - np.exp(by_xla.log_probs(PROMPTS[0], [1])[0])).max() < 0.08


@pytest.mark.integration
@pytest.mark.parametrize("rows", [0, 1, 3, 5])
def test_exports_answer_any_number_of_texts(task, folder, rows):
    signatures = tf.saved_model.load(str(folder)).signatures
    check_equal(
        signatures["serving_default"](text=tf.constant(TEXTS[:rows], tf.string)),
        task.predict(TEXTS[:rows], max_new_tokens=12),
    )


@pytest.mark.integration
def test_requests_have_sampling_parameters(task, folder):
    signature = tf.saved_model.load(str(folder)).signatures["generate"]
    specs = signature.structured_input_signature[1]
    neutral = {"max_new_tokens": 9, "temperature": 0, "top_p": 1, "repetition_penalty": 1.2, "length_penalty": 1}
    inputs = {
        name: tf.fill([2], tf.cast(neutral.get(name, 0), spec.dtype))
        for name, spec in specs.items()
        if name not in ("text", "stop")
    }
    found = signature(text=tf.constant(TEXTS[:2]), stop=tf.constant([["e", "at"], ["z", ""]]), **inputs)
    options = {"max_new_tokens": 9, "repetition_penalty": 1.2}
    first = task.predict(TEXTS[:1], stop=["e", "at"], **options)
    check_equal(found, first + task.predict(TEXTS[1:2], stop=["z"], **options))


def test_sizes_of_stop_strings_and_choices_are_few():
    """What is added changes no row: strings without letters on the left, choices that no token continues."""
    request = make_request(2, ["abc", "d", "e"], {}, {}, choices=np.array([[4, 5, -1], [6, -1, -1], [7, 8, 9]]))
    padded = padded_request(tf.nest.map_structure(tf.convert_to_tensor, request))
    assert padded.stop.strings.shape == (2, 4, 4) and padded.stop.lengths.numpy().tolist() == [[3, 1, 1, 0]] * 2
    np.testing.assert_array_equal(padded.stop.strings[:, :3, 1:], request.stop.strings)
    assert padded.choices.shape == (2, 4, 4)
    np.testing.assert_array_equal(padded.choices[:, :3, :3], request.choices)
    assert (padded.choices.numpy()[:, 3] == -1).all() and (padded.choices.numpy()[:, :, 3] == -1).all()
    assert (
        padded_request(tf.nest.map_structure(tf.convert_to_tensor, make_request(1, (), {}, {}))).choices.shape[1] == 0
    )


@pytest.mark.integration
def test_choices_and_scores_are_those_of_the_task(task, folder):
    signatures = tf.saved_model.load(str(folder)).signatures
    texts, choices = ["the cat", "one"], [" sat", " two", ""]
    specs = signatures["choose"].structured_input_signature[1]
    assert {*specs} == {"text", "choices"}
    found = signatures["choose"](text=tf.constant(texts), choices=tf.constant([choices] * 2))
    assert [text.decode() for text in found["generated_text"].numpy()] == task.generate(texts, choices=choices[:2])


@pytest.mark.integration
@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "coverage_penalty": 0.2}])
def test_encoders_and_growing_caches(options, tmp_path):
    task = seq2seq_lm()
    task.export(tmp_path / "1", compiled=True, max_new_tokens=50, **options)
    serve = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    for texts in ([text_of([5, 9, 7])], [text_of([5, 9, 7]), "", text_of([*range(3, 39)])]):
        check_equal(serve(text=tf.constant(texts)), task.predict(texts, max_new_tokens=50, **options))


@pytest.mark.integration
def test_bare_processes_and_sessions_answer(task, folder):
    report = bare_process(sys.executable).report(folder, {"serving_default": {"text": TEXTS[:1]}})
    assert "error" not in report, report["error"][-3000:]
    expected = task.generate(TEXTS[:1], max_new_tokens=12)
    assert report["answers"]["serving_default"]["generated_text"] == expected
    assert session_answers(folder, TEXTS[0], "generated_text", "serving_default") == expected


@pytest.mark.integration
def test_warm_up_requests_are_of_every_length(task, folder):
    texts = [
        inputs["text"].numpy()[0].decode() for name, inputs in warm_up_requests(folder) if name == "serving_default"
    ]
    sizes = {len(ids.ids) + 12 for ids in task.tokenizer.encode(texts)}
    assert {int(padded_length(size, 48)) for size in sizes} == {*padded_lengths(48)}


def test_filters_do_not_depend_on_static_shapes():
    logits = np.random.default_rng(0).normal(size=(3, 300)).astype("float32") * 3
    filters = np.array([0, 7, 40], "int32"), np.array([0.8, 1.0, 0.6], "float32"), np.array([0.0, 0.0, 0.1], "float32")
    expected, sums = keep_top(logits, *filters), np.cumsum(logits, axis=-1)
    with static_shapes():
        np.testing.assert_array_equal(keep_top(logits, *filters), expected)
        np.testing.assert_allclose(_running_sum(tf.constant(logits)), sums, atol=1e-3)


def test_there_are_few_sizes():
    assert padded_lengths(1000) == [32, 64, 128, 256, 512, 1000] and padded_lengths(20) == [20]
    assert [int(padded_length(size, 20)) for size in (1, 20, 25)] == [20, 20, 25]
    assert [int(power_of_two(rows)) for rows in (0, 1, 3, 4, 9)] == [1, 1, 4, 4, 16]


@pytest.mark.parametrize(
    "options, message", [({"prompt_lookup": 3}, "leave one of them out"), ({}, "compiled must be True or False")]
)
def test_wrong_options(task, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        task.export(tmp_path / "1", compiled=True if options else "yes", **options)
    assert not [*tmp_path.iterdir()]
