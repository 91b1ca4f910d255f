"""What no request may do to an answer or to a server; texts as they grow; stop strings of every vocabulary."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from generating import CORPUS, causal_lm
from translating import seq2seq_of

from keras_transformers.families import lfm2
from keras_transformers.generation.request import SAMPLING_PARAMETERS, sampling_parameters_of
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

WORDS = ["hel@@ lo wor@@ ld wor@@ ds a b , .", "ld hel@@ a@@ b@@ a b"]
VOCABULARIES = {
    "bytes": lambda: Tokenizer.train(CORPUS, 290, model="byte_pair", special_tokens=["</s>"]),
    "joined parts": lambda: Tokenizer.train(WORDS, model="words"),
}


@pytest.fixture(scope="module")
def task():
    return causal_lm()


@pytest.fixture(scope="module")
def generate(task):
    """The signature of an export: parameters by name, those that are not given neutral."""
    signature = task.service.signatures(task.parts.answers.request(1), 1)["generate"].get_concrete_function()

    def ask(texts, stop, **values):
        parameters = {
            name: values.get(name, [knob.neutral] * len(texts)) for name, knob in sampling_parameters_of(1).items()
        }
        parameters = {name: tf.constant(column, SAMPLING_PARAMETERS[name].dtype) for name, column in parameters.items()}
        answer = signature(text=tf.constant(texts), stop=tf.constant(stop, tf.string), **parameters)
        return {name: column.numpy().tolist() for name, column in answer.items()}

    return ask


def test_a_stream_of_texts_refuses_options_before_it_reads(task):
    texts = iter(["a"])
    for options in ({"num_beams": 0}, {"batch_size": 2.5}, {"top_q": 1}, {"verbose": "loud"}):
        with pytest.raises((ValueError, TypeError), match=r"received|unknown options"):
            task.predict_stream(texts, **options)
    assert next(texts) == "a"


@pytest.mark.integration
def test_stop_strings_that_are_too_long_or_too_many(generate):
    """A row gets an error; many empty ones are none."""
    none = [""] * 99
    stop = [["x" * 1025, *none], ["x"] * 65 + none[:35], [*none, "x" * 1024], none[:1] + ["x"] * 64 + none[:35]]
    answer = generate(["a"] * 4, stop, max_new_tokens=[3] * 4)
    assert answer["num_tokens"] == [0, 0, 3, 3]
    assert answer["error"] == [b"stop takes at most 64 strings of at most 1,024 bytes."] * 2 + [b""] * 2


@pytest.mark.integration
@pytest.mark.parametrize("rows", [1, 3])
def test_every_option_has_a_row_for_each_text(generate, rows):
    for name in ["stop", *sampling_parameters_of(1)]:
        values = {"stop": [[""]] * 2} | {
            name: [[""]] * rows if name == "stop" else [SAMPLING_PARAMETERS[name].neutral] * rows
        }
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name} must have one row for each text"):
            generate(["a", "b"], **values)


@pytest.mark.integration
def test_the_coldest_temperatures(generate):
    """Logits over them would be infinite: they are the greedy text."""
    cold = [0.0, 1e-45, 1e-38, 1.2e-38, 1e-37, 1e-30, 1e-10]
    options = {"temperature": cold, "seed": list(range(7)), "max_new_tokens": [9] * 7}
    for more in ({}, {"top_k": [5] * 7}, {"top_p": [0.9] * 7}, {"min_p": [0.1] * 7}):
        assert len(set(generate(["the cat"] * 7, [[]] * 7, **options, **more)["generated_text"])) == 1, more


@pytest.fixture(scope="module", params=VOCABULARIES)
def writer(request):
    return seq2seq_of(VOCABULARIES[request.param]())


@pytest.mark.integration
def test_any_stop_string_ends_the_text(writer):
    """At the first token with which the decoded text holds it."""
    sources, random = ["a b", "b a", "a , b"], np.random.default_rng(0)
    options = {"temperature": 0.9, "seed": [1, 2, 3], "token_bias": {writer.config.eos_ids[0]: float("-inf")}}
    texts = writer.generate(sources, **options)
    parts = [text[begin : begin + 4] for text in texts for begin in random.integers(0, len(text) - 6, 6)]
    ends = {part.split("\ufffd")[-1][: random.integers(1, 5)] for part in parts} - {""}
    assert len(ends) > 5
    for stop in [" " + texts[0][:2], *sorted(ends)]:
        for row, text, whole in zip(writer.predict(sources, stop=[stop], **options), sources, texts, strict=True):
            assert row["generated_text"] == whole.partition(stop)[0], (stop, text)
            assert row["num_tokens"] < writer.max_length - 1 or stop not in whole[:-4]


@pytest.mark.integration
@pytest.mark.parametrize("writer", ["bytes"], indirect=True)
def test_a_stream_has_whole_characters(writer):
    """Bytes that are no character yet are held back."""
    spelled, texts = writer.target_tokenizer.token_bytes(), []
    bias = {number: 0.0 if content in (b"\xc3", b"\xa4") else -9.0 for number, content in enumerate(spelled)}
    for seed in range(4):
        options = {"temperature": 1.0, "seed": seed, "token_bias": bias, "stop": ["zz", "ld"][: seed % 3]}
        pieces = list(writer.stream("a b", **options))
        texts += writer.generate(["a b"], **options)
        assert "".join(pieces) == texts[-1] and all(pieces)
        assert len(pieces) > 1 or len(texts[-1]) < 5
    assert any("ä" in text for text in texts)


# What a checkpoint prescribes.
PRESCRIBED = {
    "begin_suppress_tokens": [*range(3, 280, 2)], "suppress_tokens": [*range(4, 280, 9)],
    "encoder_no_repeat_ngram_size": 1, "encoder_repetition_penalty": 1.5, "stop": ["a", "o"],
    "sequence_bias": [[[number, 33], 4.0] for number in range(280)], "exponential_decay_length_penalty": [5, 1.1],
}  # fmt: skip


@pytest.mark.integration
def test_an_export_does_what_a_checkpoint_prescribes(tmp_path):
    """As `predict` does."""
    task, texts = causal_lm(), ["the cat", "one, two", ""]
    task.generation = PRESCRIBED
    answers = task.predict(texts, max_new_tokens=12)
    assert not any(letter in answer["generated_text"] for letter in "ao" for answer in answers)
    task.export(tmp_path / "1", max_new_tokens=12)
    serve = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    served = serve(text=tf.constant(texts))
    assert [text.decode() for text in served["generated_text"].numpy()] == [row["generated_text"] for row in answers]
    np.testing.assert_allclose(served["score"], [row["score"] for row in answers], atol=1e-4)


def test_stop_strings_of_a_checkpoint(task):
    writing = task.parts.answers
    try:
        task.generation = {"stop": ["ab", "c"]}
        lengths = [writing.request(1, stop).stop.lengths.tolist() for stop in (None, [], ["x"])]
    finally:
        task.generation = {}
    assert lengths == [[[2, 1]], [[0]], [[1]]]


def test_what_a_file_says_besides_is_kept(task):
    """Whatever a caller sets."""
    writing = task.parts.answers
    task.generation = {"num_beams": 2, "kept": {"use_cache": True}}
    assert task.generation == {"num_beams": 2}
    task.generation = {}
    assert writing.saved() == {"generation": {"kept": {"use_cache": True}}}
    task.generation = {"kept": {}}
    assert writing.saved() == {}


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_an_export_stores_each_weight_once_in_the_dtype_of_the_task(tmp_path, dtype):
    task = causal_lm(dtype)
    task.export(tmp_path / "1", max_new_tokens=3)
    stored = tf.train.load_checkpoint(tmp_path / "1/variables/variables")
    dtypes, shapes = stored.get_variable_to_dtype_map(), stored.get_variable_to_shape_map()
    floats = [name for name, kind in dtypes.items() if kind.is_floating]
    assert {dtypes[name] for name in floats} == {tf.as_dtype(dtype)}
    assert sum(int(np.prod(shapes[name])) for name in floats) == task.model.count_params()


def test_guesses_are_refused_where_a_state_would_have_to_forget_them():
    config = lfm2(300, 2, 2, 16, 32, max_length=48, block_options=[{"mixer": "short_convolution"}, {}])
    task = Task("causal_lm", config, Tokenizer.train([], model="bytes"))
    with pytest.raises(ValueError, match=r"prompt_lookup=3 takes back wrong guesses, .* Leave prompt_lookup out"):
        task.generate(["a"], prompt_lookup=3)
