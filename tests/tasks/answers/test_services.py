"""Services follow their models: adapters and prescribed tokens that came after the first answer; counts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import generating
import numpy as np
import pytest
import tensorflow as tf
import tiny
from tokenizers import Regex, pre_tokenizers
from tokenizers import Tokenizer as Library

from keras_transformers.families import bert
from keras_transformers.tasks import Task
from keras_transformers.tasks.answers.services import check_counts
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.training.lora import add_lora


def disturb(task) -> None:
    """Adapters with weights that matter, as after training."""
    add_lora(task.model, 2)
    task.compile()
    random = np.random.default_rng(0)
    for variable in task.model.trainable_variables:
        variable.assign(variable + 0.3 * random.normal(size=variable.shape).astype("float32"))


@pytest.mark.integration
def test_adapters_that_come_after_the_first_answer_count(tmp_path):
    task, texts = tiny.masked_lm(), ["a fine [MASK]"]
    before = task.service.run("serving_default", [texts])["probabilities"]
    disturb(task)
    after = task.service.run("serving_default", [texts])["probabilities"]
    assert abs(after - before).max() > 1e-3
    task.export(tmp_path / "1")
    exported = tf.saved_model.load(tmp_path / "1").signatures["serving_default"](text=tf.constant(texts))
    np.testing.assert_allclose(exported["probabilities"], after, atol=1e-5)
    service = task.service
    task.predict(texts)
    assert task.service is service  # it is made once for the adapters, not at each call


@pytest.mark.integration
def test_adapters_that_come_after_the_first_text_count(tmp_path):
    task = generating.causal_lm()
    texts, options = ["the cat"], {"max_new_tokens": 8}
    before = task.predict(texts, **options)
    disturb(task)
    after = task.predict(texts, **options)
    assert abs(before[0]["score"] - after[0]["score"]) > 1e-3
    assert "".join(task.stream(texts[0], **options)) == after[0]["generated_text"]
    task.export(tmp_path / "1", **options)
    exported = tf.saved_model.load(tmp_path / "1").signatures["serving_default"](text=tf.constant(texts))
    assert [text.decode() for text in exported["generated_text"].numpy()] == [row["generated_text"] for row in after]
    np.testing.assert_allclose(exported["score"], [row["score"] for row in after], atol=1e-4)


@pytest.mark.integration
def test_tokens_that_are_prescribed_after_the_first_text_count():
    task, never = generating.causal_lm(), tuple(range(1, 200))
    free = task.predict(["the cat"], max_new_tokens=5)
    biased = task.predict(["the cat"], max_new_tokens=5, token_bias=dict.fromkeys(never, float("-inf")))
    task.generation = {"suppressed_ids": never}
    assert task.predict(["the cat"], max_new_tokens=5) == biased != free


@pytest.mark.integration
def test_threads_may_ask_first():
    """Each may trace a service of its own: the answers are the same, and the next call takes one that stands."""
    task = tiny.masked_lm()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: task.predict(["a fine [MASK]"]), range(4)))
    assert all(answer == answers[0] for answer in answers)
    assert task.service is task.service


def test_counts():
    assert check_counts(one=1, two=np.int64(2)) == [1, 2]
    assert all(type(count) is int for count in check_counts(one=np.int32(1)))
    for wrong in (0, -1, True, 1.0, 1.5, float("nan"), None, "2", np.bool_(True), [1]):
        with pytest.raises(ValueError, match=r"rows, beams must be at least 1, and whole: received {'beams'"):
            check_counts(rows=3, beams=wrong)


def without_ops() -> Tokenizer:
    """A tokenizer that the library runs, and that cannot be compiled."""
    library = Library.from_str(Tokenizer.train(["a fine film", "a dull film"], vocabulary_size=40).to_json())
    library.pre_tokenizer = pre_tokenizers.Split(Regex("ab|a?c"), "isolated")
    return Tokenizer(library)


@pytest.mark.integration
def test_a_tokenizer_that_cannot_be_compiled_still_learns_and_says_what_works(tmp_path):
    tokenizer = without_ops()
    config = bert(tokenizer.vocabulary_size, num_layers=1, num_heads=2, hidden_dim=8, max_length=16)
    task = Task("classification", config, tokenizer, labels=["no", "yes"])
    rows = ["a fine film", "a dull film"], ["yes", "no"]
    task.fit(*rows, epochs=1, verbose=0)
    assert 0 <= task.evaluate(*rows, verbose=0)["accuracy"] <= 1
    task.save(tmp_path / "saved")
    says = r"pre_tokenizer .Split by Regex 'ab\|a\?c', Isolated. .*`predict`, .*These work without, .*: `fit`"
    for call in (lambda: task.predict(rows[0]), lambda: task.export(tmp_path / "1")):
        with pytest.raises(ValueError, match=says):
            call()
    assert not (tmp_path / "1").exists()
