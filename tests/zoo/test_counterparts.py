"""Models to compare the bundled ones with: as large, with the same tokens, and without weights."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import zoo

COUNTERPARTS = {name: zoo.describe(name).tokenizer for name in zoo.names() if zoo.describe(name).tokenizer}
each_name = pytest.mark.parametrize("name", COUNTERPARTS)
ENGLISH, GERMAN = ["It is raining.", "Tom was late."], ["Es regnet.", "Tom kam zu spät."]


def test_there_are_some():
    assert sorted(COUNTERPARTS) == ["cnn_encoder", "lstm_lm", "rnn_attention_seq2seq", "rnn_seq2seq"]


@each_name
def test_as_many_parameters_as_its_counterpart(name):
    other = zoo.describe(COUNTERPARTS[name])
    assert other.bundled and zoo.describe(name).config.vocabulary_size == other.config.vocabulary_size
    assert zoo.describe(name).config.max_length == other.config.max_length
    assert abs(zoo.describe(name).parameters / other.parameters - 1) < 0.02


@pytest.mark.integration
@each_name
def test_what_is_loaded(name):
    task, entry = zoo.load(name, weights=False, seed=1), zoo.describe(name)
    assert (task.config, task.name) == (entry.config, entry.task)
    text = "The old house, and a garden."
    folder = zoo.describe(COUNTERPARTS[name]).folder
    from keras_transformers.text.tokenizer import Tokenizer

    two = entry.config.kind == "encoder_decoder"
    tokenizer = Tokenizer.pair_from_folder(folder)[0] if two else Tokenizer.from_folder(folder)
    # An end token may be put behind it by the task.
    ids = tokenizer.encode([text], special_tokens=False)[0].ids
    assert task.tokenizer.encode([text], special_tokens=False)[0].ids == ids
    again = zoo.load(name, weights=False, seed=1)
    for ours, same in zip(task.model.get_weights(), again.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, same)


@pytest.mark.integration(quick=["lstm_lm"])
@each_name
def test_there_are_no_weights(name):
    with pytest.raises(ValueError, match=f"no weights for '{name}', only sizes: load it with weights=False, train"):
        zoo.load(name)


def test_what_is_known_of_a_model_is_not_to_be_said():
    with pytest.raises(ValueError, match=r"'lstm_lm' specifies its tokenizer and heads: received .*num_heads=2"):
        zoo.load("lstm_lm", weights=False, num_heads=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rnn_seq2seq", "rnn_attention_seq2seq"])
def test_translators_learn_and_write(name, tmp_path):
    task = zoo.load(name, weights=False, seed=1, dropout=0.0)
    options = {"epochs": 30, "batch_size": 2, "learning_rate": 3e-3, "verbose": 0}
    history = task.fit(ENGLISH, GERMAN, **options).history["loss"]
    assert history[-1] < 0.4 * history[0]
    written = task.generate(ENGLISH, max_new_tokens=12)
    assert written == GERMAN
    task.save(tmp_path / "saved")
    assert zoo.load(tmp_path / "saved").generate(ENGLISH, max_new_tokens=12) == written


@pytest.mark.integration
def test_a_classifier():
    task = zoo.load("cnn_encoder", labels=["bad", "good"], weights=False, seed=1)
    assert task.predict(["a fine day"])[0]["label"] in ("bad", "good")
    assert keras.ops.shape(task.model.output["logits"])[-1] == 2


@pytest.mark.integration
def test_a_decoder_without_attention_aligns_nothing():
    with pytest.raises(ValueError, match="align needs a decoder that attends to its encoder: received a model with"):
        zoo.load("rnn_seq2seq", weights=False).align(ENGLISH, GERMAN)
