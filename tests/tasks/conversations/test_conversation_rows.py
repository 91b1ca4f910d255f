"""Learning from conversations: labels, packing, cuts, validation."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import to_numpy
from generating import CORPUS

from keras_transformers.families import gpt2
from keras_transformers.tasks import Task
from keras_transformers.tasks.reports import measure
from keras_transformers.text.tokenizer import Tokenizer

WORDS = ("cat", "dog", "mouse", "bird")
TALKS = [
    [
        {"role": "user", "content": f"say {word}"},
        {"role": "assistant", "content": word},
        {"role": "user", "content": "twice"},
        {"role": "assistant", "content": f"{word} {word}"},
    ]
    for word in WORDS
]


def task_of(max_length: int = 128, **options) -> Task:
    tokenizer = Tokenizer.train(
        [*CORPUS, "say cat twice dog mouse bird <|assistant|> <|user|>"], 330, model="byte_pair"
    )
    keras.utils.set_random_seed(0)
    config = gpt2(tokenizer.vocabulary_size, 1, 2, 32, max_length=max_length, eos_ids=[tokenizer.eos_id], dropout=0.0)
    return Task("causal_lm", config, tokenizer, **{"chat_template": "plain"} | options)


@pytest.fixture(scope="module")
def task():
    return task_of()


def labels_of(task: Task, dataset) -> list[str]:
    rows = [row for _, labels, *_ in dataset for row in np.asarray(labels)]
    return [task.tokenizer.decode([int(i) for i in row if i >= 0], skip_special_tokens=False) for row in rows]


def test_answers_alone_are_labels(task):
    learned = labels_of(task, task.dataset(TALKS, packing=None))
    end = "<|endoftext|>"
    assert sorted(learned) == sorted(f"{word}{end}{word} {word}{end}" for word in WORDS)
    with pytest.raises(ValueError, match="conversations hold their answers"):
        task.dataset(TALKS, ["a"] * 4)
    with pytest.raises(ValueError, match="conversation 1: messages is empty"):
        task.dataset([TALKS[0], []])


@pytest.mark.integration
def test_packed_conversations_give_the_loss_of_single_ones(task):
    """They do not attend to each other."""
    single, packed = (
        task.model.evaluate(task.dataset(TALKS, packing=packing, shuffle=False), verbose=0, return_dict=True)[
            "cross_entropy"
        ]
        for packing in (None, "documents")
    )
    np.testing.assert_allclose(packed, single, rtol=1e-5)
    with pytest.raises(ValueError, match="blocks"):
        task.dataset(TALKS, packing="blocks")


@pytest.mark.integration
def test_long_conversations_lose_their_end():
    task = task_of(max_length=20)
    with pytest.warns(UserWarning, match=r"5 of 5 conversations were cut .* max_length=20; 1 have no answer left"):
        learned = labels_of(task, task.dataset([*TALKS, [{"role": "user", "content": "a" * 90}, *TALKS[0][1:]]]))
    assert not any("cat cat" in text for text in learned)
    with pytest.raises(ValueError, match="no answer of 1 conversations lies within max_length=20"):
        task.dataset([[{"role": "user", "content": "a" * 90}, *TALKS[0][1:]]])


@pytest.mark.integration
@pytest.mark.parametrize("form", ["split", "texts", "pair", "dict"])
def test_validation_in_all_forms(task, form):
    given = {"split": {"validation_split": 0.5}, "texts": {"validation_data": TALKS[:2]}}
    given |= {"pair": {"validation_data": (TALKS[:2],)}, "dict": {"validation_data": {"texts": TALKS[:2]}}}
    history = task.fit(TALKS, epochs=1, verbose=0, **given[form]).history
    assert history["val_perplexity"][0] > 1


@pytest.mark.integration
def test_a_model_learns_to_answer(tmp_path):
    import zoo

    task = task_of()
    before = measure(task, TALKS)
    task.fit(TALKS * 8, epochs=25, learning_rate=5e-3, batch_size=8, verbose=0, dataset_options={"packing": None})
    after = measure(task, TALKS)
    assert before["exact_match"] == 0
    assert after["exact_match"] == 100, after
    assert after["answers"][0] == {"prompt": "twice", "right": "cat cat", "answer": "cat cat"}
    assert after["perplexity"] < before["perplexity"] / 10
    assert task.chat(TALKS[1][:1]) == "dog"

    task.save(tmp_path / "chat")
    assert zoo.load(tmp_path / "chat").chat(TALKS[1][:1]) == "dog"


@pytest.mark.integration
def test_adapters_beside_a_frozen_half_precision_model_learn_to_answer(tmp_path):
    import zoo

    base, options = task_of(), {"batch_size": 8, "verbose": 0, "dataset_options": {"packing": None}}
    shifted = [[question, *TALKS[i - 1][1:]] for i, (question, *_) in enumerate(TALKS)]  # other words are right
    base.fit(shifted * 8, epochs=25, learning_rate=5e-3, **options)
    base.save(tmp_path / "base")
    task = zoo.load(tmp_path / "base", lora_rank=8, dtype="bfloat16", seed=0)
    frozen = {weight.path: to_numpy(weight) for weight in task.model.non_trainable_weights}
    assert {weight.name for weight in task.model.trainable_weights} == {"lora_kernel_a", "lora_kernel_b"}
    before = measure(task, TALKS)
    task.fit(TALKS * 8, epochs=15, learning_rate=1e-2, **options)
    after = measure(task, TALKS)
    assert before["exact_match"] <= 50  # the second answers repeat the first ones, which are given
    assert after["exact_match"] == 100, after
    for weight in task.model.non_trainable_weights:
        np.testing.assert_array_equal(to_numpy(weight), frozen[weight.path])

    task.save(tmp_path / "chat")
    merged = zoo.load(tmp_path / "chat", dtype="bfloat16")
    assert [merged.chat(talk[:1]) for talk in TALKS] == [task.chat(talk[:1]) for talk in TALKS]


@pytest.mark.integration
def test_the_plain_template_is_for_models_without_one(task):
    assert task_of(chat_template="{{ messages[0].content }}").options["chat_template"] == "{{ messages[0].content }}"
    again = Task("causal_lm", task.config, task_of(chat_template="{{ 7 }}").tokenizer, chat_template="plain")
    assert again.tokenizer.files["chat_template.jinja"] == b"{{ 7 }}"
    for wrong in (7, "{{", b"{{ 7 }}"):
        with pytest.raises(ValueError, match=r"chat_template|chat template"):
            task_of(chat_template=wrong)
    with pytest.raises(ValueError, match=r"ends turns in '<\|endoftext\|>', at which the model does not stop"):
        Task(
            "causal_lm",
            task.config.replace(eos_ids=()),
            Tokenizer.from_json(task.tokenizer.to_json()),
            chat_template="plain",
        )
    with pytest.raises(ValueError, match="the tokenizer has no chat template"):
        task_of(chat_template=None).dataset(TALKS)
