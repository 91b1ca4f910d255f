"""Chat templates: a conversation as the text that a model was trained on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import jinja2
from jinja2 import meta

from keras_transformers.text.chat.plain_template import PLAIN, PLAIN_SOURCE
from keras_transformers.text.chat.sandbox import compiled, described, environment, marking
from keras_transformers.text.chat.template_files import (
    DEFAULT,
    file_of,
    read_chat_templates,
    template_tokens,
    with_chat_template,
)
from keras_transformers.text.chat.template_limits import LimitError
from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.text_checks import check_text
from keras_transformers.utils.untrusted import shown

Message = Mapping[str, Any]
NO_TOKENS: Mapping[str, str] = MappingProxyType({})
NO_VARIABLES: Mapping[str, Any] = MappingProxyType({})
ROLES, OTHER_ROLES = ("system", "user", "assistant"), {"tool", "developer", "ipython", "function"}
REASONING = ("reasoning_content", "thinking", "reasoning")  # names of one thing; templates read the first
GIVEN = {"messages", "tools", "documents", "add_generation_prompt"}
TOOLS = "tool_use"  # name of the template for conversations with tools, if there is one


class ChatTemplate:
    """A chat template, run in a sandbox: it gives the texts of `transformers`' `apply_chat_template`.

    Args:
        source: Jinja template.
        tokens: Special tokens by role, such as `{"bos_token": "<s>"}`, which the template may use.
        file: Name of the file that it comes from, for errors.

    Raises:
        ValueError: It is no Jinja template.

    Example:

    >>> template = ChatTemplate("{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}")
    >>> template.render([{"role": "user", "content": "Hello"}])
    '<user>Hello'
    """

    def __init__(self, source: str, tokens: Mapping[str, str] = NO_TOKENS, file: str = ""):
        self.source, self.tokens, self.file = source, dict(tokens), file
        self._compiled = compiled(source)

    @cached_property
    def roles(self) -> frozenset[str]:
        """Return the roles that a message may have: the usual three, and all words that the template quotes."""
        return frozenset(ROLES) | {word for _, word in re.findall(r"""(['"])([\w-]+)\1""", self.source)}

    @property
    def usual_roles(self) -> list[str]:
        """Return the roles among `roles` that an error names."""
        return [*ROLES, *sorted(self.roles & OTHER_ROLES)]

    @cached_property
    def variables(self) -> frozenset[str]:
        """Names that the template reads and the caller may give, such as `enable_thinking`."""
        tree = environment().parse(self.source)
        read = {name for name in meta.find_undeclared_variables(tree) if not name.endswith("_token")}
        return frozenset(read - GIVEN - {*environment().globals})

    def render(
        self, messages: Sequence[Message], *, add_generation_prompt: bool = True, tools: Any = None, **variables: Any
    ) -> str:
        """Return the text of a conversation.

        Args:
            messages: Dicts with `role` and `content`, both str, and perhaps other keys that the template uses.
            add_generation_prompt: Whether to add the beginning of the next answer.
            tools: JSON schemas of tools, if the template uses them.
            **variables: Other values that the template uses, such as `enable_thinking=False`.

        Raises:
            ValueError: There are no messages, one is no such dict or has an unknown role, the template knows no such
                variable, or refuses the conversation.
        """
        return self._render(messages, add_generation_prompt, {**variables, "tools": tools})

    def answer_spans(self, messages: Sequence[Message], **variables: Any) -> tuple[str, list[tuple[int, int]]] | None:
        """Return the text of a whole conversation, and where in it the assistant writes.

        Args:
            messages, **variables: As for `render`.

        Returns:
            The text, and for each `{% generation %}` block its half-open span in characters; None if the template has
            no such blocks.

        Raises:
            ValueError: As for `render`, or a filter changes what a block has written.
        """
        if not re.search(r"{%-?\s*generation\s*-?%}", self.source):
            return None
        with marking() as marks:
            marked = self._render(messages, False, variables)
        pieces, spans, start, size = [], [], 0, 0
        for piece in re.split("|".join(f"({re.escape(mark)})" for mark in marks), marked):
            if piece == marks[0]:
                start = size
            elif piece == marks[1]:
                spans.append((start, size))
            elif piece:
                pieces.append(piece)
                size += len(piece)
        text = "".join(pieces)
        if text != self._render(messages, False, variables):
            raise ValueError(
                "the chat template changes what {% generation %} has written, such as by a filter around it: it is "
                "unknown where the answers are. Put the filter inside of the block."
            )
        return text, spans

    def check_variables(self, variables: Any) -> None:
        """Raise a `ValueError` unless these are values by name that the template reads, `tools` among them."""
        if not isinstance(variables, Mapping):
            raise ValueError(
                'template_variables is a dict of values by name, such as {"enable_thinking": False}: received '
                f"{shown(variables)}."
            )
        self.check_names({*variables} - {"tools"})

    def check_names(self, names: Any) -> None:
        """Raise a `ValueError` if the template reads no variable of such a name."""
        if unknown := sorted({*names} - self.variables, key=str):
            raise ValueError(
                f"the chat template has no variables {unknown}: it reads {sorted(self.variables)}. Leave them out."
            )

    def _render(self, messages: Sequence[Message], add_generation_prompt: bool, variables: Mapping[str, Any]) -> str:
        self.check_variables(variables)
        plain = {name: None if value is None else _plain(value, name) for name, value in variables.items()}
        tools, written = plain.pop("tools", None), [*map(_with_reasoning, check_messages(messages, self))]
        if tools is not None and "tools" not in self.source:
            raise ValueError("the chat template does not use tools, and received some. Leave them out.")
        try:
            return self._compiled.render(
                messages=written,
                tools=tools,
                documents=None,
                add_generation_prompt=add_generation_prompt,
                **self.tokens | plain,
            )
        except LimitError as error:
            raise ValueError(
                f"the chat template{f' in {self.file}' * bool(self.file)} goes beyond its limits: {error}. Correct the "
                "template, or take the checkpoint from a source that you trust."
            ) from None
        except jinja2.exceptions.TemplateError as error:
            raise ValueError(f"the chat template refuses the conversation: {error}") from None
        except Exception as error:  # whatever a template does, also without memory or recursion
            raise ValueError(f"the chat template cannot write the conversation: {described(error)}") from None


def find_template(tokenizer: Tokenizer, name: str | None = None) -> ChatTemplate | None:
    """Return a chat template of a tokenizer; None if it has none.

    Args:
        tokenizer: The tokenizer.
        name: Name of the template, where there are several; the default one when None.

    Raises:
        ValueError: There is no template of that name, or several and none is the default.
    """
    found = read_chat_templates(tokenizer.files)
    name = DEFAULT if name is None else name
    if not found:
        return None
    if name not in found:
        raise ValueError(f"the tokenizer has no chat template {name!r}: expected one of {sorted(found)}.")
    tokens = template_tokens(tokenizer.files, tokenizer.named_roles())
    return ChatTemplate(found[name], tokens, file_of(tokenizer.files, name))


def has_template(tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer has chat templates, valid ones or not."""
    return bool(read_chat_templates(tokenizer.files))


def need_template(tokenizer: Tokenizer) -> ChatTemplate:
    """Return the chat template of a tokenizer.

    Raises:
        ValueError: It has none.
    """
    template = find_template(tokenizer)
    if template is None:
        raise ValueError(
            "the tokenizer has no chat template, so that it is unknown how the model reads conversations. Load an "
            "instruct or chat model, or give zoo.load a chat_template: Jinja, or 'plain' for one without new tokens."
        )
    return template


def with_template(tokenizer: Tokenizer, source: str) -> Tokenizer:
    """Return a tokenizer with another chat template, which `save` writes.

    Args:
        tokenizer: The tokenizer.
        source: Jinja template; `"plain"` for one whose turns end in the end token, and whose roles are plain text, if
            the tokenizer has none.

    Raises:
        ValueError: It is no Jinja template; or the plain one, and the tokenizer has no end token.
    """
    check_template(source)
    if source == PLAIN:
        if find_template(tokenizer) is not None:
            return tokenizer
        source = PLAIN_SOURCE
        if "eos_token" not in tokenizer.named_roles():
            raise ValueError(
                "the plain chat template ends turns in the end token, and the tokenizer names none: give it one with "
                'tokenizer.with_role("eos_token", ...), or give a template.'
            )
    return tokenizer.with_files(with_chat_template(tokenizer.files, source, tokenizer.named_roles()))


def check_template(source: Any) -> None:
    """Raise a `ValueError` if this is neither a Jinja template, nor `"plain"`, nor None."""
    if not isinstance(source, str | None):
        raise ValueError(f"chat_template is a Jinja template, or 'plain': received {shown(source)}.")
    check_text("chat_template", source or "", 0)
    compiled(source or "")


def check_messages(messages: Any, template: ChatTemplate) -> list[dict[str, Any]]:
    """Return messages as plain dicts, without keys that are None.

    Args:
        messages: Messages of one conversation, from outside.
        template: Template that will write them.

    Raises:
        ValueError: They are not such messages: the error names the message.
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise ValueError(
            'messages is a list of dicts, such as [{"role": "user", "content": "Hello"}]: received ' + shown(messages)
        )
    if not messages:
        raise ValueError("messages is empty: give at least one message.")
    return [_checked(message, index, template) for index, message in enumerate(messages)]


def _checked(message: Any, index: int, template: ChatTemplate) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise ValueError(f"message {index} must be a dict with role and content: received {shown(message)}.")
    values = {key: value for key, value in message.items() if value is not None}
    role = values.get("role")
    if not isinstance(role, str) or role not in template.roles:
        raise ValueError(f"message {index} has the role {shown(role)}: expected one of {template.usual_roles}.")
    needs_content = "content" in values or "tool_calls" not in values
    if needs_content and not isinstance(values.get("content"), str):
        raise ValueError(
            f"message {index} must have a content that is a str: received {shown(values.get('content'))}. Join parts "
            "of text; images and other media are not read."
        )
    for key in values.keys() - {"role", "content"}:
        names = REASONING if key in REASONING else (str(key),)
        if not any(re.search(rf"\b{re.escape(name)}\b", template.source) for name in names):
            raise ValueError(f"message {index} has {shown(key)}, which the chat template does not use. Leave it out.")
    return _plain(values, f"message {index}")


def _with_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    reasoning = next((message[name] for name in REASONING if name in message), None)
    if reasoning is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


def _plain(value: Any, name: str) -> Any:
    """Return a copy made of JSON's types alone: an object's methods could lead out of the sandbox."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{name} must be made of JSON's types: {error}") from None
