"""`task.compiled`: XLA computes the answers of this process, which are those without it."""

from __future__ import annotations

import every_task
import keras
import numpy as np
import pytest
import tiny

from keras_transformers.families import gpt2
from keras_transformers.tasks import Task
from keras_transformers.text.tokenizer import Tokenizer

TEXTS = ["a warm day", "", "a grey room and a bright song", "a day " * 50]


def writer() -> Task:
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer.train(tiny.TEXTS, vocabulary_size=280, model="byte_pair")
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "max_length": 32, "initializer_range": 0.5}
    return Task("causal_lm", gpt2(tokenizer.vocabulary_size, eos_ids=[tokenizer.eos_id], **sizes), tokenizer)


@pytest.mark.integration
def test_predictions_are_the_same(tmp_path):
    task = tiny.classifier()
    expected = [task.predict([text])[0] for text in TEXTS]
    task.compiled = True
    for _ in range(2):  # the second time by the programs of the first one
        for text, row in zip(TEXTS, expected, strict=True):
            (answer,) = task.predict([text])
            assert answer["label"] == row["label"]
            np.testing.assert_allclose([*answer["probabilities"].values()], [*row["probabilities"].values()], atol=1e-5)
    many = task.predict(TEXTS)
    assert [row["label"] for row in many] == [row["label"] for row in expected]
    assert task.predict([]) == []
    task.fit(["a warm day", "a grey room"], [*task.labels][:2], epochs=1, verbose=0, learning_rate=0.1)
    after = task.predict(TEXTS[:1])[0]["probabilities"]
    task.compiled = False
    np.testing.assert_allclose([*task.predict(TEXTS[:1])[0]["probabilities"].values()], [*after.values()], atol=1e-5)
    assert abs(after[task.labels[0]] - expected[0]["probabilities"][task.labels[0]]) > 1e-3


@pytest.mark.integration
def test_an_export_follows_its_own_argument(tmp_path):
    import tensorflow as tf

    task = tiny.classifier()
    task.compiled = True
    task.export(tmp_path / "1")
    assert not any("uncompiled" in name for name in tf.saved_model.load(str(tmp_path / "1")).signatures)
    task.export(tmp_path / "2", compiled=True)
    assert "serving_default_uncompiled" in tf.saved_model.load(str(tmp_path / "2")).signatures


@pytest.mark.integration
def test_generated_texts_are_the_same():
    task = writer()
    prompts = ["a warm", "a grey room and", ""]
    options = {"max_new_tokens": 5}
    expected = task.generate(prompts, **options)
    streamed = "".join(task.stream(prompts[0], **options))
    scores = task.score(prompts[:1], ["day"])
    task.compiled = True
    assert task.generate(prompts, **options) == expected
    assert "".join(task.stream(prompts[0], **options)) == streamed
    assert task.score(prompts[:1], ["day"]) == scores
    for wrong in ({"prompt_lookup": 3}, {"draft": writer()}):
        with pytest.raises(ValueError, match="compiled=True reads a token at a time"):
            task.generate(prompts, **wrong)
    with pytest.raises(ValueError, match=r"set draft.compiled = False"):
        writer().generate(prompts, draft=task)
    with pytest.raises(ValueError, match=r"set task.compiled = False"):
        task.generate(prompts, pattern="a|b")


@pytest.mark.integration
@pytest.mark.parametrize("name", [name for name in every_task.NAMES if name not in ("causal_lm", "seq2seq_lm")])
def test_each_task_answers_or_refuses_and_changes_nothing(name):
    task = every_task.make(name)
    columns = {"question_answering": (["a day"], ["a warm day"]), "ranking": (["a day"], ["a warm day"])}
    columns["multiple_choice"] = (["a day"], [["a warm day", "a film"]])
    texts = columns.get(name, (["a warm day"],))
    expected = task.predict(*texts)
    try:
        task.compiled = True
    except ValueError as error:
        assert "Leave compiled out" in str(error)
        assert task.compiled is False
        assert name in ("token_classification", "question_answering", "multiple_choice", "masked_lm", "pretraining",
                        "replaced_tokens")  # fmt: skip
    for value, other in zip(*map(keras.tree.flatten, (task.predict(*texts), expected)), strict=True):
        assert value == other if isinstance(other, str) else value == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_a_value_that_is_refused(value):
    task = tiny.classifier()
    with pytest.raises(ValueError, match=f"compiled must be True or False: received {value!r}"):
        task.compiled = value
    assert task.compiled is False
