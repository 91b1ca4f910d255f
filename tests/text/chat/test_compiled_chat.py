"""Chat templates as TensorFlow ops: the texts are Jinja's and transformers'."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
import tensorflow as tf
from chat_samples import TEMPLATES, VARIABLES, conversations, padded
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformers.text.chat.compiled_chat import compile_chat, environment

DATES = {"strftime_now": lambda form: f"a date in {form}"}


def tensors(rows: list[list[dict[str, str]]]) -> list[tf.Tensor]:
    turns = max([len(row) for row in rows], default=0)
    return [tf.constant(padded(rows, field), tf.string, [len(rows), turns]) for field in ("role", "content")]


def answers(compiled: Any, rows: list[list[dict[str, str]]], **inputs: Any) -> list[tuple[str, str]]:
    """The prompt and the error of each conversation."""
    prompts, errors = compiled(*tensors(rows), **inputs)
    return [(prompt.decode(), error.decode()) for prompt, error in zip(prompts.numpy(), errors.numpy(), strict=True)]


def raise_exception(message: str):
    raise RuntimeError(message)


def rendered(source: str, row: list[dict[str, str]], **variables: Any) -> tuple[str, str]:
    """What Jinja makes of a conversation: the text, or the words of its error."""
    try:
        template = environment().from_string(source)
        return template.render(messages=row, raise_exception=raise_exception, **variables), ""
    except Exception as error:
        return "", str(error)


@pytest.mark.integration
@pytest.mark.parametrize("name", TEMPLATES)
def test_prompts_are_jinjas(name):
    variables = {**VARIABLES, **DATES}
    rows = conversations(60)
    found = answers(compile_chat(TEMPLATES[name], variables), rows)
    assert found == [rendered(TEMPLATES[name], row, **variables) for row in rows]
    assert any(prompt for prompt, _ in found)


@pytest.mark.parity
@pytest.mark.parametrize("name", TEMPLATES)
def test_prompts_are_those_of_transformers(name):
    from transformers.utils.chat_template_utils import render_jinja_template

    def expected(row):
        try:
            return render_jinja_template([row], chat_template=TEMPLATES[name], **variables)[0][0], ""
        except Exception as error:
            return "", str(error)

    variables: dict[str, Any] = {**VARIABLES, "date_string": "1 May 2026", "enable_thinking": False}
    rows = conversations(400, seed=1)
    found = answers(compile_chat(TEMPLATES[name], variables), rows)
    assert found == [expected(row) for row in rows]
    refused = sum(bool(error) for _, error in found)
    assert refused < 300 and (refused > 20 or name not in ("chatml", "headers", "alternating"))


@pytest.mark.integration
def test_a_row_may_have_its_own_variables():
    source = "{% if enable_thinking %}T{% else %}F{% endif %}{{ mood | upper }}{{ enable_thinking is false }}"
    compiled = compile_chat(source, {}, {"enable_thinking": tf.bool, "mood": tf.string})
    rows = [[{"role": "user", "content": "a"}]] * 2
    found = answers(compiled, rows, enable_thinking=tf.constant([True, False]), mood=tf.constant(["ß", "ok"]))
    assert found == [("TSSFalse", ""), ("FOKTrue", "")]


def test_batches_without_rows_or_turns():
    compiled = compile_chat("{% for m in messages %}{{ m.content }}{% else %}none{% endfor %}", {})
    assert answers(compiled, []) == []
    assert answers(compiled, [[], []]) == [("none", "")] * 2
    assert compiled(tf.zeros([0, 3], tf.string), tf.zeros([0, 3], tf.string))[0].shape == [0]


def test_only_turns_at_the_end_are_padding():
    compiled = compile_chat("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", {})
    prompts, _ = compiled([["", "user", ""]], [["a", "b", "c"]])
    assert prompts.numpy().tolist() == [b"<>a<user>b"]


def test_bytes_that_are_no_text_are_replaced_as_python_does():
    compiled = compile_chat("{% for m in messages %}{{ m.content | trim }}{{ m.content[1:] }}|{% endfor %}", {})
    drawn = random.Random(0)
    contents = [bytes(drawn.choices([*b"a \xc2\xe2\x82\xf0\x9f\x80\xff\xed\xa0", 0], k=6)) for _ in range(500)]
    found, errors = compiled([["user"]] * 500, tf.constant(contents)[:, None])
    texts = [content.decode(errors="replace") for content in contents]
    assert [prompt.decode() for prompt in found.numpy()] == [f"{text.strip()}{text[1:]}|" for text in texts]
    assert not any(errors.numpy())


@pytest.mark.parametrize(
    ("source", "errors"),
    [
        ("{{ messages[0].role + messages[1].content }}", ["list object has no element 1", ""]),
        ("{{ raise_exception('no ' + messages[-1].role) }}", ["no user", "no assistant"]),
        ("{{ messages[0].name.x }}", ["'dict object' has no attribute 'name'"] * 2),
        ("{{ messages[0].content + 1 }}", ['can only concatenate str (not "int") to str'] * 2),
        ("{{ nothing.x }}", ["'nothing' is undefined"] * 2),
        (
            "{% for m in messages %}{% if loop.index == 2 %}{{ m + '' }}{% endif %}{% endfor %}",
            ["", "unsupported operand type(s) for +: 'dict' and 'str'"],
        ),
    ],
)
def test_errors_of_a_row_are_pythons(source, errors):
    rows = [
        [{"role": "user", "content": "a"}],
        [{"role": "user", "content": "b"}, {"role": "assistant", "content": ""}],
    ]
    found = answers(compile_chat(source, {}), rows)
    expected = [rendered(source, row) for row in rows]
    assert found == expected
    assert [error for _, error in found] == errors


@pytest.mark.parametrize(
    ("source", "construct"),
    [
        ("\n{{ messages | tojson }}", "filter 'tojson' of this value in line 2"),
        ("{{ messages[0] }}", "text of a message or a list in line 1"),
        ("{{ messages[0].content | wordcount }}", "filter 'wordcount' in line 1"),
        ("{{ messages[0].content.zfill(3) }}", "attribute 'zfill' in line 1"),
        ("{{ messages[0].content.split(messages[0].role) }}", "separator that differs by conversation in line 1"),
        (
            "\n\n{% if x %}\n{% endif %}{{ strftime_now('%Y') }}",
            "function 'strftime_now', the date of a request in line 4",
        ),
        ("{% include 'other' %}", "statement 'Include' in line 1"),
        (
            "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(messages[0].role) }}",
            "macro 'f', which calls itself, in line 1",
        ),
    ],
)
def test_what_cannot_be_compiled_is_named_with_its_line(source, construct):
    with pytest.raises(ValueError, match=f"the chat template has {re.escape(construct)}.*cannot be compiled"):
        compile_chat(source, {})


def test_no_template_keeps_the_compiler_busy(monkeypatch):
    monkeypatch.setattr("keras_transformers.text.chat.graph_expressions.MOST_STEPS", 300)
    compile_chat("{% for i in range(99) %}{{ i }}{% endfor %}", {})
    with pytest.raises(ValueError, match="the chat template has more than 300 steps, in line 1, which cannot be"):
        compile_chat("{% for i in range(99) %}{% for j in range(9) %}{{ i }}{% endfor %}{% endfor %}", {})
    with pytest.raises(ValueError, match="more than 300 steps"):
        compile_chat("{% for i in range(99) %}{% for j in range(9) %}{% endfor %}{% endfor %}", {})


@pytest.mark.parametrize(("source", "words"), [("{% if %}", "line 1"), ("{{ x | nofilter }}", "No filter named")])
def test_syntax_errors_are_refused(source, words):
    with pytest.raises(ValueError, match=f"the chat template is no valid Jinja.*{words}"):
        compile_chat(source, {})


@pytest.mark.integration
def test_a_saved_model_of_core_ops(tmp_path):
    compiled = compile_chat(TEMPLATES["macros"], VARIABLES)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.string, name) for name in ("role", "content")])
    def serve(role, content):
        prompt, error = compiled(role, content)
        return {"prompt": prompt, "error": error}

    module = tf.Module()
    module.serve = serve
    tf.saved_model.save(module, str(tmp_path), {"serving_default": serve})
    graph = saved_model_pb2.SavedModel.FromString((tmp_path / "saved_model.pb").read_bytes()).meta_graphs[0].graph_def
    used = {node.op for function in graph.library.function for node in function.node_def}
    own = {function.signature.name for function in graph.library.function}
    assert not [op for op in used - own if op not in dir(tf.raw_ops) or op.startswith("Xla") or "PyFunc" in op]
    rows = conversations(20, seed=2)
    role, content = tensors(rows)
    answer = tf.saved_model.load(str(tmp_path)).signatures["serving_default"](role=role, content=content)
    assert [text.decode() for text in answer["prompt"].numpy()] == [prompt for prompt, _ in answers(compiled, rows)]
