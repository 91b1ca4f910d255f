"""Replaced token detection: what is learnt, told, exported and loaded, as ELECTRA's discriminator."""

from __future__ import annotations

import bare
import keras
import numpy as np
import pytest
import tiny

import zoo
from keras_transformers.families import electra
from keras_transformers.tasks import Task

TEXTS = ["a fine film", "", "A  dull, dull day!", "film " * 30]


def make(**options):
    keras.utils.set_random_seed(0)
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "embedding_dim": 8, "max_length": 16}
    return Task("replaced_tokens", electra(tiny.tokenizer().vocabulary_size, **sizes, **options), tiny.tokenizer())


@pytest.fixture(scope="module")
def task():
    return make(initializer_range=0.5)


@pytest.mark.integration
def test_it_learns_which_words_do_not_belong():
    task = make(dropout=0.0, attention_dropout=0.0, initializer_range=0.2)
    history = task.fit(tiny.TEXTS, epochs=60, batch_size=24, learning_rate=1e-2, verbose=0).history["loss"]
    assert np.mean(history[-5:]) < 0.6 * np.mean(history[:5])
    fine, odd = task.predict(["a fine film", "a fine rained"])
    assert odd["tokens"][2]["score"] > fine["tokens"][2]["score"] + 0.3


@pytest.mark.integration
def test_a_score_for_each_token_of_the_text(task):
    answers = task.predict(TEXTS)
    assert [[token["text"] for token in answer["tokens"]] for answer in answers[:3]] == [
        ["a", "fine", "film"], [], ["A", "dull", ",", "dull", "day", "!"],
    ]  # fmt: skip
    assert [answer["truncated"] for answer in answers] == [False, False, False, True]
    assert len(answers[3]["tokens"]) == 14
    for text, answer in zip(TEXTS, answers, strict=True):
        assert all(text[token["start"] : token["end"]] == token["text"] for token in answer["tokens"])
        assert all(0 < token["score"] < 1 for token in answer["tokens"])


@pytest.mark.integration
def test_export_in_a_process_of_its_own(task, tmp_path):
    task.export(tmp_path / "1")
    answer = bare.ask(tmp_path / "1", {"serving_default": {"text": TEXTS}})["serving_default"]
    for row, expected in enumerate(task.predict(TEXTS)):
        count = len(expected["tokens"])
        for name, column in {"token": "text", "token_start": "start", "token_end": "end"}.items():
            assert answer[name][row][:count] == [token[column] for token in expected["tokens"]]
        scores = [token["score"] for token in expected["tokens"]]
        assert answer["token_score"][row] == pytest.approx(scores + [0.0] * (14 - count), abs=1e-6)


@pytest.mark.integration
def test_it_starts_other_tasks_and_is_loaded(task, tmp_path):
    task.save(tmp_path / "model")
    loaded = zoo.load(tmp_path / "model")
    assert loaded.name == "replaced_tokens"
    assert loaded.predict(TEXTS[:1]) == task.predict(TEXTS[:1])
    classifier = zoo.load(tmp_path / "model", "classification", labels=tiny.NAMES, seed=0)
    ours, theirs = (one.model.get_layer("token_embedding").get_weights()[0] for one in (task, classifier))
    np.testing.assert_array_equal(ours, theirs)


def test_a_family_without_such_a_class(tmp_path):
    tiny.masked_lm().save(tmp_path / "bert")
    with pytest.raises(ValueError, match="no class of transformers is a 'replaced_tokens' of family 'bert': expected"):
        zoo.load(tmp_path / "bert", "replaced_tokens")


@pytest.mark.parity
def test_scores_are_those_of_transformers(task, tmp_path):
    import torch
    import transformers

    task.save(tmp_path / "model")
    reference = transformers.ElectraForPreTraining.from_pretrained(tmp_path / "model").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    encoded = tokenizer(TEXTS[2], return_tensors="pt")
    with torch.no_grad():
        theirs = torch.sigmoid(reference(**encoded).logits)[0, 1:-1].numpy()
    scores = [token["score"] for token in task.predict([TEXTS[2]])[0]["tokens"]]
    assert np.ptp(theirs) > 0.01
    np.testing.assert_allclose(scores, theirs, atol=1e-5)
