"""Answers in conversations: prompts by the chat template, refusals, streams."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import tokenizers
from generating import causal_lm, lively
from tokenizers import models, pre_tokenizers

import zoo
from keras_transformers.tasks import Task
from keras_transformers.tasks.conversations.chat_scores import score_answers
from keras_transformers.tasks.conversations.system_prefix import system_text, without_beginning
from keras_transformers.text.chat.template import ChatTemplate, with_template
from keras_transformers.text.tokenizer import Tokenizer

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('The system comes first.') }}{% endif %}{{ m.role[0] + ': ' + m.content + '. ' }}{% endfor %}"
    "{% if think is defined and think %}Hm. {% endif %}{% if add_generation_prompt %}{{ 'a:' }}{% endif %}"
)
MESSAGES = [{"role": "user", "content": "the cat"}]


@pytest.fixture(scope="module")
def task():
    made = causal_lm()
    task = Task("causal_lm", made.config, with_template(made.tokenizer, TEMPLATE))
    lively(task.model)
    return task


@pytest.mark.integration
def test_an_answer_continues_the_written_conversation(task):
    for variables, prompt in (({}, "u: the cat. a:"), ({"think": True}, "u: the cat. Hm. a:")):
        expected = task.generate([prompt], special_tokens=False, max_new_tokens=6)
        assert [task.chat(MESSAGES, max_new_tokens=6, template_variables=variables)] == expected
        assert (
            task.generate(messages=[MESSAGES, MESSAGES], max_new_tokens=6, template_variables=variables) == expected * 2
        )
        assert "".join(task.stream(messages=MESSAGES, max_new_tokens=6, template_variables=variables)) == expected[0]


@pytest.mark.integration
def test_the_prefix_of_a_conversation_is_its_system_prompt(task):
    options = {"max_new_tokens": 6, "template_variables": {"think": True}}
    system = {"role": "system", "content": "one mat"}
    expected = task.predict(messages=[[system, *MESSAGES]], **options)[0]
    answer = task.predict(messages=[MESSAGES], prefix="one mat", **options)[0]
    assert answer["generated_text"] == expected["generated_text"] and abs(answer["score"] - expected["score"]) < 1e-4
    assert "".join(task.stream(messages=MESSAGES, prefix="one mat", **options)) == expected["generated_text"]
    with pytest.raises(ValueError, match="The system comes first"):
        task.chat([system, *MESSAGES], prefix="one mat")


def test_a_system_prompt_must_stand_before_the_other_messages():
    tokenizer = Tokenizer.train(["the cat"], 270, model="byte_pair")
    inside = ChatTemplate("<s>{% for m in messages %}{% if m.role != 'system' %}{{ messages[0].content ~ m.content }}"
                          "{% endif %}{% endfor %}")  # fmt: skip
    with pytest.raises(ValueError, match="into the first message of the user"):
        system_text(inside, "Be brief.", {}, tokenizer)
    with pytest.raises(ValueError, match="takes no system prompt as a prefix"):
        system_text(ChatTemplate("{{ raise_exception('No system.') }}"), "Be brief.", {}, tokenizer)
    with pytest.raises(ValueError, match="conversation 1"):
        without_beginning(["Be brief. a", "Be long. a"], "Be brief.", tokenizer)


def test_a_system_prompt_has_the_same_tokens_as_a_prefix():
    written = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    for scheme, refused in (("never", False), ("always", True)):  # Llama 2 adds a space before each text
        library = tokenizers.Tokenizer(models.BPE({"a": 0, "▁": 1}, [], unk_token="a"))
        library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
        with pytest.raises(ValueError, match="adds a space") if refused else nullcontext():
            assert system_text(written, "aa", {}, Tokenizer(library)) == "<system>aa"


@pytest.mark.integration
def test_an_iterator_of_conversations_is_not_lost(task):
    assert len(task.generate(messages=iter([MESSAGES, MESSAGES]), max_new_tokens=2)) == 2
    for wrong in (5, {"a": MESSAGES}, b"a", "a"):
        with pytest.raises(ValueError, match="messages is a list of conversations"):
            task.generate(messages=wrong)
    with pytest.raises(ValueError, match="conversation 0 is a message"):
        task.generate(messages=MESSAGES)
    with pytest.raises(ValueError, match="template_variables is a dict"):
        task.chat(MESSAGES, template_variables=None)


@pytest.mark.integration
def test_answers_without_room_are_told(task):
    talk = [*MESSAGES, {"role": "assistant", "content": "sat"}]
    long = [{"role": "user", "content": "the cat " * 100}, talk[1]]
    with pytest.warns(UserWarning, match="1 of 2 conversations were not answered, and count as wrong: The conv"):
        assert score_answers(task, [talk, long, [MESSAGES[0], {"role": "assistant", "tool_calls": []}]])["answers"]


@pytest.mark.integration
def test_an_answer_ends_by_default(task):
    """512 tokens, or half of the model's; the checkpoint's number comes first."""
    (row,) = task.predict(messages=[MESSAGES], min_new_tokens=24, token_bias={task.tokenizer.eos_id: -np.inf})
    assert row["num_tokens"] == 24
    assert row["error"] == ""
    assert not row["truncated"]


@pytest.mark.integration
def test_no_special_tokens_are_added(task):
    """The template has written them: a tokenizer that adds some would add them twice."""
    from tokenizers import processors

    library = task.tokenizer._library.from_str(task.tokenizer.to_json())
    end = task.tokenizer.eos_id
    library.post_processor = processors.TemplateProcessing("<|endoftext|> $A", special_tokens=[("<|endoftext|>", end)])
    adds = Task("causal_lm", task.config, task.tokenizer.with_library(library))
    adds.model.set_weights(task.model.get_weights())
    assert adds.generate(["the cat"], max_new_tokens=6) != adds.generate(
        ["the cat"], max_new_tokens=6, special_tokens=False
    )
    assert adds.chat(MESSAGES, max_new_tokens=6) == task.chat(MESSAGES, max_new_tokens=6)


@pytest.mark.integration
def test_a_conversation_that_is_too_long_is_refused(task):
    turns = [{"role": "user", "content": "the cat sat on the mat. " * 9}]
    (row, short) = task.predict(messages=[turns, MESSAGES], max_new_tokens=4)
    assert (row["generated_text"], row["num_tokens"], short["num_tokens"]) == ("", 0, 4)
    assert row["error"].startswith("The conversation and max_new_tokens exceed the 48 tokens")
    with pytest.raises(ValueError, match="text 0 cannot be answered: The conversation and max_new_tokens exceed"):
        task.chat(turns)
    with pytest.raises(ValueError, match="exceed"):
        next(task.stream(messages=turns))
    with pytest.raises(ValueError, match="exceed"):
        task.chat(MESSAGES, max_new_tokens=48)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "give either texts or messages"),
        ({"texts": ["a"], "messages": [MESSAGES]}, "give either texts or messages"),
        ({"texts": ["a"], "template_variables": {"think": True}}, "template_variables belong to messages"),
        ({"messages": MESSAGES}, "conversation 0 is a message"),
        ({"messages": "Hello"}, "messages is a list of conversations"),
        ({"messages": [MESSAGES, []]}, "conversation 1: messages is empty"),
        ({"messages": [[*MESSAGES, {"role": "system", "content": "a"}]]}, "conversation 0: .*The system comes first"),
        ({"messages": [MESSAGES], "template_variables": {"thnk": 1}}, r"no variables \['thnk'\]: it reads \['think'\]"),
        ({"messages": [MESSAGES], "top_q": 1}, "top_q"),
    ],
)
def test_wrong_conversations(task, arguments, error):
    with pytest.raises((ValueError, TypeError), match=error):
        task.generate(**arguments)


@pytest.mark.integration
def test_without_a_template():
    with pytest.raises(ValueError, match="the tokenizer has no chat template"):
        causal_lm().chat(MESSAGES)


def test_no_conversations(task):
    assert task.generate(messages=[]) == []


@pytest.mark.integration
def test_a_saved_task_answers_the_same(task, tmp_path):
    task.save(tmp_path / "chat")
    loaded = zoo.load(tmp_path / "chat")
    assert loaded.chat(MESSAGES, max_new_tokens=6) == task.chat(MESSAGES, max_new_tokens=6)
