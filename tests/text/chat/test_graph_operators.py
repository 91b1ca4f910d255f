"""Operators in compiled templates, beside Jinja: places behind the end of a list, errors that depend on values."""

from __future__ import annotations

import pytest
from chats import TURNS

from keras_transformers.text.chat.compiled_chat import compile_chat
from keras_transformers.text.chat.template import ChatTemplate


@pytest.mark.parametrize(
    "expression",
    [
        "['a', 'b'][loop.index0]",
        "['a', 'b'][-loop.index]",
        "['a', 'b'][m.content | length]",
        "['a'][loop.index] is defined",
    ],
)
def test_a_place_outside_a_list_is_undefined(expression):
    source = "{% for m in messages %}<{{ " + expression + " }}>{% endfor %}"
    (role, content) = ([[turn[key] for turn in TURNS]] for key in ("role", "content"))
    prompts, errors = compile_chat(source, {})(role, content)
    assert errors.numpy().tolist() == [b""]
    assert prompts.numpy()[0].decode() == ChatTemplate(source).render(TURNS)


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("'%s: %s' % (m.role, m.content)", "formatting of a text by '%'"),
        ("100 // (m.content | length)", "operator 'FloorDiv'"),
    ],
)
def test_errors_that_depend_on_values_are_not_compiled(expression, part):
    with pytest.raises(ValueError, match=part):
        compile_chat("{% for m in messages %}{{ " + expression + " }}{% endfor %}", {})
