"""A chat template as core TensorFlow ops: roles and contents to prompts, and to an error for each that has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import tensorflow as tf
from jinja2 import TemplateError, nodes
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from keras_transformers.text.chat import sandbox
from keras_transformers.text.chat.graph_loops import Loops
from keras_transformers.text.chat.graph_paths import PathEndsError
from keras_transformers.text.chat.graph_statements import functions
from keras_transformers.text.chat.graph_values import (
    Known,
    Messages,
    NotCompiledError,
    Rows,
    Value,
    kind,
    options,
    tensor,
)
from keras_transformers.text.chat.sandbox import Generation

Compiled = Callable[..., tuple[tf.Tensor, tf.Tensor]]


class Unmarked(Generation):
    """The tag `{% generation %}` as a scope without marks."""

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def environment() -> ImmutableSandboxedEnvironment:
    """Return Jinja's environment with the options of `sandbox`, without its functions: a graph has others."""
    return sandbox.environment(Unmarked, has_functions=False)


def compile_chat(
    source: str, variables: Mapping[str, Any], row_inputs: Mapping[str, tf.DType] | None = None
) -> Compiled:
    """Compile a chat template into core TensorFlow ops.

    Use it where messages arrive in a SavedModel; in Python, Jinja renders the same text.

    Args:
        source: Template in Jinja, as tokenizers of Hugging Face carry it.
        variables: Values of its variables by name, equal for all conversations: special tokens,
            `add_generation_prompt`, `enable_thinking`. A date is one of them: `date_string`, or `strftime_now`, a
            function from a format to a text that is called once.
        row_inputs: Dtypes of variables that differ by conversation, by name: tf.string, tf.bool or tf.int32.

    Returns:
        Function `(role, content, **row_inputs)` of strings (B, turns), padded at the end by turns with an empty role,
        and tensors (B,). It returns the prompts (B,), and errors (B,) that are empty where there is none; a
        conversation with an error has an empty prompt.

    Raises:
        ValueError: The template has an error of syntax, or a construct that no graph can hold, named with its line.

    Example:

    >>> source = "{% for message in messages %}<{{ message.role }}>{{ message.content | trim }}{% endfor %}"
    >>> prompts, errors = compile_chat(source, {})([["user", "assistant"]], [[" Hi ", "Hello"]])
    >>> prompts.numpy().tolist(), errors.numpy().tolist()
    ([b'<user>Hi<assistant>Hello'], [b''])
    """
    made = environment()
    try:
        made.from_string(source)
        body = made.parse(source).body
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise ValueError(f"the chat template is no valid Jinja: {error}" + f", line {line}" * bool(line)) from error
    known = {name: Known(value) for name, value in variables.items()}
    names = dict(row_inputs or {})

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.string, "role"),
            tf.TensorSpec([None, None], tf.string, "content"),
            {name: tf.TensorSpec([None], dtype, name) for name, dtype in names.items()},
        ],
        autograph=False,
    )
    def render(role: tf.Tensor, content: tf.Tensor, rows: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        return _render(body, made, known, role, content, {name: Rows(tensor) for name, tensor in rows.items()})

    try:
        render.get_concrete_function()
    except NotCompiledError as error:
        raise ValueError(_words(error)) from error

    def compiled(role: Any, content: Any, **rows: Any) -> tuple[tf.Tensor, tf.Tensor]:
        return render(role, content, rows)

    return compiled


def _words(error: NotCompiledError) -> str:
    remedy = "Give the date as the variable 'date_string', or 'strftime_now', a function from a format to a text"
    is_date = "strftime_now" in str(error)
    return f"the chat template has {error} in line {error.line}, which cannot be compiled into a TensorFlow graph. " + (
        remedy if is_date else "Render messages in Python, and export the model for text"
    )


def _render(
    body: list[nodes.Node],
    made: ImmutableSandboxedEnvironment,
    known: Mapping[str, Value],
    role: tf.Tensor,
    content: tf.Tensor,
    rows: Mapping[str, Value],
) -> tuple[tf.Tensor, tf.Tensor]:
    messages = _messages(role, content)
    paths = Loops(made, {})
    paths.rows = tf.zeros_like(messages.count)
    paths.variables = {**functions(paths), **known, **rows, "messages": messages}
    with suppress(PathEndsError):  # no conversation is without an error
        paths.run(body)
    prompt = tensor(paths.texts["output"].join())
    error = tf.fill(tf.shape(messages.count), "")
    for mask, option in options(paths.state["error"]):
        if kind(option) == "string":
            words = tf.where(tf.equal(tensor(option), ""), "the chat template refuses it", tensor(option))
            error = tf.where(mask, words, error)
    return tf.where(tf.equal(error, ""), prompt, ""), error


def _messages(role: tf.Tensor, content: tf.Tensor) -> Messages:
    """Return messages up to the last with a role, as valid UTF-8; at least one column."""
    there = tf.not_equal(role, "")
    count = tf.reduce_max(tf.where(there, tf.range(1, tf.shape(role)[1] + 1)[None], 0), 1)
    count = tf.maximum(count, 0)  # the maximum of nothing is negative
    role, content = (
        tf.pad(tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8"), [[0, 0], [0, 1]], constant_values="")
        for texts in (role, content)
    )
    return Messages(role, content, count)
