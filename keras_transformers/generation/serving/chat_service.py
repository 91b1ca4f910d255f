"""Conversations to answers as TensorFlow functions: the signatures of an export that takes messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.generation.decoding import Decoding
from keras_transformers.generation.prompts import CHATS
from keras_transformers.generation.request import Request, sampling_parameters_of
from keras_transformers.generation.serving.columns import STOP, squeezed, tiled
from keras_transformers.generation.serving.graph_text import first_error, parameter_specs, request_of
from keras_transformers.generation.serving.service import GenerationService
from keras_transformers.text.chat.compiled_chat import compile_chat
from keras_transformers.text.chat.template import ChatTemplate
from keras_transformers.utils.untrusted import shown

ROLE, CONTENT = (tf.TensorSpec([None, None], tf.string, name=name) for name in ("role", "content"))
NO_MESSAGES = "The conversation has no messages."
LOST = "A content has no role: give it one, or an empty content."
NO_ROLE = "A message without a role precedes others: roles are empty only behind the last message."
OTHER_SYSTEM = "The template writes the system prompt of this export in another way for this conversation."
UNKNOWN_ROLE = "A role is unknown: expected one of {roles}."


class CompiledTemplate:
    """A chat template as TensorFlow ops, and the signatures that it gives.

    Args:
        template: The template.
        variables: Values that the template reads, by name.
        inputs: Variables that are inputs of the signatures, each (B,), with an example: bool or str.
        system: A system prompt before each conversation, and how the template writes it, which the texts then lack.

    Raises:
        ValueError: A part of the template cannot be compiled; the message names it.
    """

    def __init__(
        self,
        template: ChatTemplate,
        variables: Mapping[str, Any],
        inputs: Mapping[str, bool | str],
        system: tuple[str, str] | None = None,
    ):
        self.template, self.system = template, system
        self.inputs = {name: _spec(name, value) for name, value in inputs.items()}
        values = {"tools": None, "documents": None, "add_generation_prompt": True, **template.tokens, **variables}
        self._write_out = compile_chat(template.source, values, {name: x.dtype for name, x in self.inputs.items()})

    def __call__(self, role: tf.Tensor, content: tf.Tensor, *values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the texts and the errors of conversations, string (B,), from string (B, M) for M messages."""
        wrong = conversation_errors(role, content, self.template)
        values_by_name = dict(zip(self.inputs, values, strict=True))
        if self.system is None:
            text, error = self._write_out(role, content, **values_by_name)
            return text, first_errors(wrong, error)
        prompt, beginning = self.system
        role, content = _with_first(role, "system"), _with_first(content, prompt)
        text, error = self._write_out(role, content, **values_by_name)
        text, is_behind = _behind(text, beginning)
        return text, first_error(first_errors(wrong, error), ~is_behind, OTHER_SYSTEM)

    def signatures(
        self,
        service: GenerationService,
        defaults: Request,
        sequences: int,
        decoding: Decoding,
        new_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Return the signatures `chat`, and `generate_chat`, whose further inputs are sampling parameters.

        Args:
            service: Service that generates.
            defaults: The request of `chat`, one row.
            sequences: Texts for each conversation.
            decoding: Decoding options.
            new_tokens: `max_new_tokens` of `chat`; as in `defaults` when None.
        """
        if new_tokens is not None:
            defaults = defaults._replace(max_new_tokens=np.full_like(defaults.max_new_tokens, new_tokens))
        names = list(sampling_parameters_of(decoding.num_beams, service.has_source))

        def answer(role, content, values, request, error):
            text, refused = self(role, content, *values)
            error = first_errors(error, refused)
            return squeezed(service.run(text, error, sequences, request, decoding, CHATS), sequences)

        def chat(role, content, *values):
            role, content, *rest = with_same_rows(role, content, *values)
            rows = tf.shape(role)[0]
            return answer(role, content, rest, tiled(defaults, rows), tf.fill([rows], ""))

        def generate_chat(role, content, stop, *columns):
            values, columns = columns[: len(self.inputs)], columns[len(self.inputs) :]
            role, content, *rest = with_same_rows(role, content, *values)
            request, error = request_of(dict(zip(names, columns, strict=True)), stop, tf.shape(role)[0])
            return answer(role, content, rest, request, error)

        messages, values = [ROLE, CONTENT], [*self.inputs.values()]
        knobs = [STOP, *values, *parameter_specs(names)]
        return {
            "chat": tf.function(chat, input_signature=[*messages, *values], autograph=False),
            "generate_chat": tf.function(generate_chat, input_signature=[*messages, *knobs], autograph=False),
        }


def check_inputs(inputs: Mapping[str, Any]) -> None:
    """Raise a `ValueError` if an input of the template has an example that is neither bool nor str."""
    if wrong := {name: value for name, value in inputs.items() if not isinstance(value, (bool, str))}:
        raise ValueError(f"template_inputs have a bool or a str each, an example: received {shown(wrong)}.")


def _with_first(column: tf.Tensor, value: str) -> tf.Tensor:
    return tf.pad(column, [[0, 0], [1, 0]], constant_values=value)  # (B, M + 1)


def _behind(text: tf.Tensor, beginning: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the rest of texts (B,) behind a beginning, and which texts have it, boolean (B,)."""
    size = len(beginning.encode())
    long = tf.strings.join([text, " " * size])  # `substr` refuses places outside
    rest = tf.strings.substr(long, tf.fill(tf.shape(text), size), tf.maximum(tf.strings.length(text) - size, 0))
    return rest, tf.strings.substr(long, 0, size) == beginning


def _spec(name: str, example: bool | str) -> tf.TensorSpec:
    return tf.TensorSpec([None], tf.bool if isinstance(example, bool) else tf.string, name=name)


def with_same_rows(role: tf.Tensor, content: tf.Tensor, *values: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Return the inputs, with assertions that they have one row for each conversation; all depend on all of them."""
    checks = [tf.debugging.assert_equal(tf.shape(role), tf.shape(content), "role and content must have one shape.")]
    checks += [
        tf.debugging.assert_equal(tf.shape(role)[:1], tf.shape(value), "Each input must have one row a conversation.")
        for value in values
    ]
    with tf.control_dependencies(checks):
        return tuple(tf.identity(x) for x in (role, content, *values))


def conversation_errors(role: tf.Tensor, content: tf.Tensor, template: ChatTemplate) -> tf.Tensor:
    """Return why a conversation is refused whatever its template, string (B,), from string (B, M)."""
    is_message = role != ""
    is_known = tf.reduce_any(role[:, :, None] == tf.constant(sorted(template.roles)), 2) | ~is_message  # (B, M)
    has_later = tf.cumsum(tf.cast(is_message, tf.int32), 1, exclusive=True, reverse=True) > 0
    error = tf.fill(tf.shape(role)[:1], "")
    error = first_error(error, ~tf.reduce_any(is_message, 1), NO_MESSAGES)
    error = first_error(error, tf.reduce_any(~is_message & has_later, 1), NO_ROLE)
    error = first_error(error, tf.reduce_any(~is_message & (content != ""), 1), LOST)
    return first_error(error, ~tf.reduce_all(is_known, 1), UNKNOWN_ROLE.format(roles=", ".join(template.usual_roles)))


def first_errors(*errors: tf.Tensor) -> tf.Tensor:
    """Return the first error of each row that is not empty, string (B,)."""
    found = errors[0]
    for other in errors[1:]:
        found = tf.where(found == "", other, found)
    return found
