"""Tasks of recurrent and convolutional models: they learn, are saved, and write where there is only TensorFlow."""

from __future__ import annotations

import bare
import keras
import numpy as np
import pytest
from generating import CORPUS, lively

import zoo
from keras_transformers.families import convolutional, recurrent
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

SIZES = {"num_layers": 1, "hidden_dim": 16, "max_length": 40}
CONFIGURE = {
    "lstm": (recurrent, {}),
    "cnn": (convolutional, {}),
    "rnn_seq2seq": (recurrent, {"cross_attention": False, "mixer": "gru"}),
    "rnn_attention": (recurrent, {"mixer": "simple_rnn"}),
}
each_model = pytest.mark.parametrize("name", CONFIGURE)


def make(name: str, is_lively: bool = True) -> Task:
    configure, own = CONFIGURE[name]
    translates = name.startswith("rnn")
    tokenizer = Tokenizer.train(CORPUS, 290, model="byte_pair")
    keras.utils.set_random_seed(0)
    kind = "encoder_decoder" if translates else "decoder"
    config = configure(tokenizer.vocabulary_size, **(SIZES | own), kind=kind, eos_ids=[tokenizer.eos_id], pad_id=1)
    task = Task("seq2seq_lm" if translates else "causal_lm", config, tokenizer)
    if is_lively:
        lively(task.model)
    return task


@pytest.mark.slow
@each_model
def test_it_learns(name):
    """Texts are packed by several in a row where there is one stack."""
    task = make(name, is_lively=False)
    data = [CORPUS[1:], CORPUS[1:][::-1]] if name.startswith("rnn") else [CORPUS[1:]]
    history = task.fit(*data, epochs=25, batch_size=4, learning_rate=1e-2, verbose=0).history["loss"]
    assert history[-1] < 0.7 * history[0]


@pytest.mark.slow
@each_model
def test_saved_and_exported_it_writes_the_same(name, tmp_path):
    task, texts = make(name), ["the cat", "a day of the mat, one"]
    options = {"max_new_tokens": 8, "num_beams": 2 if name == "rnn_seq2seq" else 1}
    expected = task.predict(texts, **options)
    task.save(tmp_path / "saved")
    loaded = zoo.load(tmp_path / "saved")
    assert loaded.config == task.config
    for ours, theirs in zip(task.model.get_weights(), loaded.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    task.export(tmp_path / "1", **options)
    answer = bare.ask(tmp_path / "1", {"serving_default": {"text": texts}})["serving_default"]
    assert answer["generated_text"] == [row["generated_text"] for row in expected]
    assert any(answer["generated_text"])
    np.testing.assert_allclose(answer["score"], [row["score"] for row in expected], atol=1e-5)
