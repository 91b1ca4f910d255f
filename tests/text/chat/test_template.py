"""Chat templates in Python: texts of `transformers`, errors of wrong messages, and the sandbox."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from chats import CHATML, MARKED, TURNS, user

from keras_transformers.text.chat.template import ChatTemplate, find_template, with_template
from keras_transformers.text.tokenizer import Tokenizer

STRICT = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system role.') }}{% endif %}"
    "{% for m in messages %}{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}{% endfor %}"
    "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(["the cat sat"], 270, model="byte_pair")


def test_a_conversation_as_text():
    assert ChatTemplate(CHATML).render(TURNS[:2]) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello\n there <|im_end|>\n<|im_start|>assistant\n"
    )
    assert ChatTemplate(CHATML).render(user(), add_generation_prompt=False).endswith("Hello<|im_end|>\n")


def test_special_tokens_variables_and_tools():
    template = ChatTemplate(STRICT, {"bos_token": "<s>"})
    assert template.variables == {"enable_thinking"}
    assert template.render(user(), enable_thinking=False, tools=[{"name": "f"}]) == (
        '<s>Hello<think></think>[{"name": "f"}]'
    )
    call = {"role": "assistant", "tool_calls": [{"name": "f"}], "content": None}
    assert template.render([call]) == '<s>[{"name": "f"}]'
    assert template.render([call | {"content": "Hé"}]) == '<s>Hé[{"name": "f"}]'
    for source in ("{{ messages[0].tool_calls + messages[0].content }}", "{{ messages[0].tool_calls + 'a' }}"):
        with pytest.raises(ValueError, match=r"(refuses|cannot write) the conversation: "):
            ChatTemplate(source).render([call])


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([], "messages is empty"),
        ("Hello", "messages is a list of dicts"),
        ({"role": "user", "content": "a"}, "messages is a list of dicts"),
        (["Hello"], "message 0 must be a dict"),
        ([{"role": "usr", "content": "a"}], "message 0 has the role 'usr': expected one of"),
        ([{"role": ["user"], "content": "a"}], "message 0 has the role"),
        ([{"content": "a"}], "message 0 has the role None"),
        ([*user(), {"role": "user"}], "message 1 must have a content"),
        ([{"role": "user", "content": 7}], "message 0 must have a content"),
        ([{"role": "user", "content": [{"type": "image"}]}], "images and other media"),
        ([{"role": "user", "content": "a", "name": "B"}], "'name', which the chat template does not use"),
        ([{"role": "user", "content": "a", "thinking": "B"}], "'thinking', which the chat template does not use"),
        ([{"role": "assistant", "tool_calls": [{1}], "content": "a"}], "message 0 has 'tool_calls'"),
    ],
)
def test_wrong_messages(messages, error):
    with pytest.raises(ValueError, match=error):
        ChatTemplate(CHATML).render(messages)


def test_a_template_refuses():
    with pytest.raises(ValueError, match=r"refuses the conversation: No system role\."):
        ChatTemplate(STRICT, {"bos_token": "<s>"}).render(TURNS)
    with pytest.raises(ValueError, match=r"no variables \['enable_thinkin'\]: it reads \['enable_thinking'\]"):
        ChatTemplate(STRICT).render(user(), enable_thinkin=True)
    with pytest.raises(ValueError, match="does not use tools"):
        ChatTemplate(CHATML).render(user(), tools=[])
    with pytest.raises(ValueError, match="must be made of JSON's types"):
        ChatTemplate(STRICT).render(user(), tools=[object()])
    with pytest.raises(ValueError, match="line 2 of the chat template is not Jinja"):
        ChatTemplate("a\n{% for %}")


@pytest.mark.parametrize(
    "hostile",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ raise_exception.__globals__['__builtins__'] }}",
        "{% set n = namespace(__class__=1) %}",
        "{{ dict.__subclasses__() }}",
        "{{ ''.format.__self__.__class__.__base__.__subclasses__() }}",
        "{{ range(10 ** 9) | list }}",
    ],
)
def test_the_sandbox_holds(hostile):
    with pytest.raises(ValueError, match=r"refuses|cannot write"):
        ChatTemplate(hostile).render(user())


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", "cannot write the conversation: RecursionError"),
        ("{{ messages[0].content.index('?') }}", "cannot write the conversation: ValueError: substring not found"),
        ("{% break %}", "cannot be compiled: SyntaxError: 'break' outside loop"),
        ("{% if true %}" * 120 + "{% endif %}" * 120, "cannot be compiled: (IndentationError|SyntaxError)"),
        ("{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}", "cannot be compiled: RecursionError"),
    ],
)
def test_a_template_that_fails_in_python(source, error):
    with pytest.raises(ValueError, match=error):
        ChatTemplate(source).render(user())


def test_where_the_assistant_writes():
    template = ChatTemplate(MARKED)
    text, spans = template.answer_spans(TURNS + user() + TURNS[2:])
    assert [text[start:stop] for start, stop in spans] == ["Hi.</a>"] * 2
    assert text == template.render(TURNS + user() + TURNS[2:])
    assert ChatTemplate(CHATML).answer_spans(TURNS) is None


@pytest.mark.integration
def test_threads_do_not_mark_each_others_texts():
    template, turns = ChatTemplate(MARKED), TURNS * 50

    def write(index: int) -> str:
        return template.answer_spans(turns)[0] if index % 2 else template.render(turns)

    with ThreadPoolExecutor(8) as pool:
        assert len({*pool.map(write, range(64))}) == 1


def test_reasoning_has_one_name():
    template = ChatTemplate("{% for m in messages %}{{ m.reasoning_content }}{% endfor %}")
    assert template.render([{"role": "assistant", "content": "a", "reasoning": "b"}]) == "b"


def test_a_tokenizer_keeps_its_template(tokenizer, tmp_path):
    assert find_template(tokenizer) is None
    written = with_template(with_template(tokenizer, MARKED), CHATML)
    written.save(tmp_path)
    found = find_template(Tokenizer.from_folder(tmp_path))
    assert found.source == CHATML
    assert found.tokens == find_template(written).tokens == {"eos_token": "<|endoftext|>"}
    with pytest.raises(ValueError, match=r"no chat template 'rag': expected one of \['default'\]"):
        find_template(written, "rag")
    with pytest.raises(ValueError, match="is not Jinja"):
        with_template(tokenizer, "{{")


@pytest.mark.parity
@pytest.mark.parametrize("source", [CHATML, MARKED, STRICT])
def test_texts_of_transformers(source, tokenizer, tmp_path):
    from transformers import AutoTokenizer

    tokenizer.with_files({"chat_template.jinja": source.encode()}).save(tmp_path)  # as GPT2Tokenizer, with its defaults
    theirs, ours = AutoTokenizer.from_pretrained(tmp_path), find_template(Tokenizer.from_folder(tmp_path))
    conversations = [user(), TURNS[1:], TURNS[1:] + user(" <|im_end|> \u2003ﬃ\x1c")]
    for messages in conversations:
        for options in ({}, {"add_generation_prompt": False}, {"tools": [{"é": 1}]}):
            if "tools" in options and source != STRICT:
                continue
            expected = theirs.apply_chat_template(messages, tokenize=False, **{"add_generation_prompt": True} | options)
            assert ours.render(messages, **options) == expected
