"""What a model learns of conversations: the assistant's tokens, as `transformers` marks them."""

from __future__ import annotations

import numpy as np
import pytest
from chats import CHATML, MARKED, TURNS, user

from keras_transformers.text.chat.learnt_answers import is_conversations, learnt_texts, learnt_tokens
from keras_transformers.text.chat.plain_template import PLAIN_SOURCE
from keras_transformers.text.chat.template import ChatTemplate, find_template, with_template
from keras_transformers.text.tokenizer import Tokenizer

TALK = [*TURNS, *user("And now?"), {"role": "assistant", "content": "Bye 😀!"}]
# Qwen 3's habit: old answers lose their thoughts, the last one gets an empty one.
FORGETS = (
    "{% for m in messages %}{{ '<' + m.role + '>' }}"
    "{% if m.role == 'assistant' and loop.last %}{{ '<think></think>' }}{% endif %}{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(["Be brief. Hello there. Hi. And now? Bye <|im_start|> assistant"], 330, model="byte_pair")


def spans_of(source: str, talk: list[dict]) -> list[list[str]]:
    found = learnt_texts(ChatTemplate(source, {"eos_token": "<e>"}), talk, {})
    return [[text[start:stop] for start, stop in spans] for text, spans in found]


def test_spans_by_marks_and_by_prefixes():
    assert spans_of(MARKED, TALK) == [["Hi.</a>", "Bye 😀!</a>"]]
    assert spans_of(CHATML, TALK) == [[" Hi. <|im_end|>\n", "Bye 😀!<|im_end|>\n"]]
    assert spans_of(PLAIN_SOURCE, TALK) == [[" Hi. <e>", "Bye 😀!<e>"]]


def test_marks_are_not_taken_from_messages():
    text = "\ue000\uf8f0(Hello\ue000\uf8f0)"
    assert spans_of(MARKED, [*user(text), TURNS[2]]) == [["Hi.</a>"]]
    ((written, _),) = learnt_texts(ChatTemplate(MARKED), [*user(text), TURNS[2]], {})
    assert f"<u>{text}</u>" in written


def test_marks_within_a_filter_are_refused():
    """The filter would see the marks in place of the white space."""
    with pytest.raises(ValueError, match="Put the filter inside of the block"):
        spans_of(
            "{% filter trim %}{% generation %} {{ messages[1].content }} {% endgeneration %}{% endfilter %}", TALK[1:3]
        )


@pytest.mark.parametrize("wrong", ["text", ["a", "b"], 5, None, {"role": "user"}, []])
def test_any_conversation_is_checked(wrong, tokenizer):
    with pytest.raises(ValueError, match=r"conversation 1: (messages is|message 0 must be)"):
        learnt_tokens(tokenizer, ChatTemplate(CHATML), [TALK, wrong], {})


def test_variables_are_values_by_name():
    for wrong in (None, ["a"], 5, {1: 2}, {"messages": []}, {"add_generation_prompt": True}, {"self": 1}):
        with pytest.raises(ValueError, match=r"template_variables is a dict|the chat template has no variables"):
            learnt_texts(ChatTemplate(CHATML), TALK, wrong)


def test_a_template_that_rewrites_old_answers_gives_a_text_for_each():
    assert spans_of(FORGETS, TALK) == [["<think></think> Hi. "], ["<think></think>Bye 😀!"]]
    (_, _), (text, _) = learnt_texts(ChatTemplate(FORGETS), TALK, {})
    assert text == ChatTemplate(FORGETS).render(TALK, add_generation_prompt=False)


def test_a_greeting_of_the_assistant_is_not_learned():
    assert spans_of(CHATML, [TURNS[2], *user(), TURNS[2]]) == [[" Hi. <|im_end|>\n"]]


@pytest.mark.parametrize("talk", [user(), TURNS[:2], [TURNS[2]], [TURNS[2], *user()]])
@pytest.mark.parametrize("source", [CHATML, FORGETS])
def test_conversations_without_an_answer(source, talk):
    with pytest.raises(ValueError, match="there is no answer of the assistant"):
        learnt_texts(ChatTemplate(source), talk, {})


def test_answers_elsewhere_than_behind_their_prompt(tokenizer):
    source = "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}>{% endif %}"
    with pytest.raises(ValueError, match=r"conversation 1: the chat template writes the answer .* {% generation %}"):
        learnt_tokens(tokenizer, ChatTemplate(source), [[*user(), {"role": "assistant", "content": "> a"}], TALK], {})


def test_tokens_of_answers(tokenizer):
    ((ids, is_answer),) = learnt_tokens(tokenizer, ChatTemplate(CHATML), [TALK], {})
    assert tokenizer.decode(ids, skip_special_tokens=False) == ChatTemplate(CHATML).render(
        TALK, add_generation_prompt=False
    )
    learned = tokenizer.decode(np.array(ids)[is_answer].tolist(), skip_special_tokens=False)
    assert learned == " Hi. <|im_end|>\nBye 😀!<|im_end|>\n"


def test_conversations_and_texts():
    assert is_conversations([TALK])
    assert is_conversations((tuple(TALK),))
    for other in ([], "a", ["a"], [["a"]], [[]], [[{}, "a"]], None, 7, {"a": 1}, [TALK[0]]):
        assert not is_conversations(other), other


@pytest.mark.parity
def test_the_mask_of_transformers(tokenizer, tmp_path):
    from transformers import AutoTokenizer

    with_template(tokenizer, MARKED).save(tmp_path)
    theirs, ours = AutoTokenizer.from_pretrained(tmp_path), Tokenizer.from_folder(tmp_path)
    for talk in (TURNS[1:], TALK[1:], [*TALK[1:], *user("é\u2003")]):
        expected = theirs.apply_chat_template(talk, return_dict=True, return_assistant_tokens_mask=True)
        ((ids, is_answer),) = learnt_tokens(ours, find_template(ours), [talk], {})
        assert ids == list(expected["input_ids"])
        assert is_answer.astype(int).tolist() == list(expected["assistant_masks"])
