from __future__ import annotations

import numpy as np
import pytest
import tiny
from tiny import TEXTS, softmax


@pytest.fixture(scope="module")
def task():
    task = tiny.masked_lm()
    task.history = task.fit(TEXTS, **(tiny.FIT | {"epochs": 20})).history
    return task


def test_fit_learns(task):
    assert task.history["loss"][-1] < 0.7 * task.history["loss"][0]


@pytest.mark.integration
def test_evaluate_is_exact(task):
    outputs, labels = tiny.outputs(task, task.dataset(TEXTS, batch_size=64, shuffle=False))
    labels, logits = labels.numpy(), outputs["logits"]
    real = labels >= 0
    entropy = -np.log(np.take_along_axis(softmax(logits), np.maximum(labels, 0)[..., None], -1)[..., 0][real]).mean()
    accuracy = (logits.argmax(axis=-1) == labels)[real].mean()
    results = task.evaluate(TEXTS, batch_size=64)
    assert results == pytest.approx({"accuracy": accuracy, "perplexity": np.exp(entropy)}, rel=1e-4)


@pytest.mark.integration
def test_predict_fills_each_gap_in_order(task):
    answers = task.predict(["a [MASK] [MASK]", "no gap", "a fine [MASK]", ""])
    assert [len(answer["fills"]) for answer in answers] == [2, 0, 1, 0]
    assert {token for token, _ in answers[0]["fills"][1][:4]} == set(tiny.NOUNS)
    for fills in (fills for answer in answers for fills in answer["fills"]):
        probabilities = [probability for _, probability in fills]
        assert len(fills) == 5 and probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1 + 1e-6


def test_predict_does_not_depend_on_neighbours(task):
    alone = task.predict(["a fine [MASK]"])[0]["fills"][0]
    beside = task.predict(["a fine [MASK]", "[MASK] [MASK] [MASK] a long grey room"])[0]["fills"][0]
    assert [token for token, _ in alone] == [token for token, _ in beside]
    np.testing.assert_allclose([p for _, p in alone], [p for _, p in beside], atol=1e-6)


def test_a_gap_that_is_cut_off(task):
    assert task.predict(["film " * 20 + "[MASK]"]) == [{"fills": [], "truncated": True}]
    assert task.predict([]) == []


@pytest.mark.integration
def test_a_model_with_more_rows_than_tokens_answers_tokens():
    from keras_transformers.tasks import Task

    config = tiny.config().replace(vocabulary_size=tiny.tokenizer().vocabulary_size + 50)
    task = Task("masked_lm", config, tiny.tokenizer())
    task.model.get_layer("masked_lm_bias").bias.assign(100.0 * np.arange(config.vocabulary_size, dtype="float32"))
    names = [token for token, _ in task.predict(["a [MASK]"])[0]["fills"][0]]
    assert names[0] == tiny.tokenizer().id_to_token(tiny.tokenizer().vocabulary_size - 1)


def test_labels_are_refused(task):
    with pytest.raises(ValueError, match="masked_lm takes no labels"):
        task.dataset(TEXTS, [0] * len(TEXTS))
