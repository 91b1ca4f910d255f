"""The Jinja environment of chat templates: a sandbox with the functions that `transformers` gives them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from secrets import token_hex
from typing import Any

import jinja2
from jinja2 import ext, nodes
from jinja2.parser import Parser

from keras_transformers.text.chat.template_limits import LimitedEnvironment, LimitError, guarded

MOST_INDENT = 100
_marks: ContextVar[tuple[str, str]] = ContextVar("marks", default=("", ""))


class Generation(ext.Extension):
    """The tag `{% generation %}`, which marks what the assistant writes."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        """Parse a block up to `{% endgeneration %}`."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_marked"), [], [], body).set_lineno(line)

    def _marked(self, caller: Callable[[], str]) -> str:
        start, stop = _marks.get()
        return f"{start}{caller()}{stop}"


class Namespace(jinja2.utils.Namespace):
    """A namespace of Jinja without attributes that begin with an underscore, which lead out of the sandbox."""

    def __init__(*arguments: Any, **attributes: Any):
        self, *others = arguments
        attributes = dict(*others, **attributes)
        for name in attributes:
            _check_name(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any):
        _check_name(name)
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        return "<Namespace>"  # its values may be namespaces that hold each other


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"a namespace has no attributes that begin with an underscore: {name!r}")


class _Dict:
    """The function `dict` without the type's other attributes."""

    def __call__(self, *arguments: Any, **items: Any) -> dict:
        return dict(*arguments, **items)


def environment(generation: type[Generation] = Generation, *, has_functions: bool = True) -> LimitedEnvironment:
    """Return a new environment of chat templates.

    Args:
        generation: Extension for the tag `{% generation %}`.
        has_functions: Whether templates have the functions of `transformers`, such as `strftime_now`.

    Example:

    >>> environment().from_string("{% if true %}\\n  {{- [1] | tojson }}{% endif %}").render()
    '[1]'
    """
    extensions = [generation, ext.loopcontrols]
    made = LimitedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    made.filters["tojson"] = guarded(_to_json)
    if has_functions:
        made.globals |= {"raise_exception": _refuse, "strftime_now": _now, "dict": _Dict(), "namespace": Namespace}
    return made


@contextmanager
def marking() -> Iterator[tuple[str, str]]:
    """Let templates put marks around what a `{% generation %}` block writes: two texts that no message can know."""
    secret = token_hex(8)
    token = _marks.set((f"\ue000{secret}(", f"\ue000{secret})"))
    try:
        yield _marks.get()
    finally:
        _marks.reset(token)


def _refuse(message: str) -> None:
    raise jinja2.exceptions.TemplateError(message)


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """Write JSON without escapes for HTML."""
    if (isinstance(indent, int) and indent > MOST_INDENT) or (isinstance(indent, str) and len(indent) > MOST_INDENT):
        raise LimitError(f"it indents JSON by more than {MOST_INDENT}")
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@cache
def compiled(source: str) -> jinja2.Template:
    """Return a template, compiled once.

    Raises:
        ValueError: It is no Jinja template; the message has the line.
    """
    try:
        return environment().from_string(source)
    except jinja2.exceptions.TemplateSyntaxError as error:
        raise ValueError(
            f"line {error.lineno} of the chat template is not Jinja: {error.message}. Correct the template."
        ) from None
    except (SyntaxError, RecursionError, MemoryError) as error:  # of the Python that Jinja writes
        raise ValueError(f"the chat template cannot be compiled: {described(error)}. Correct the template.") from None


def described(error: Exception) -> str:
    """Return the words of an error of Python, with its name: some have no words."""
    return f"{type(error).__name__}: {getattr(error, 'msg', None) or error}".rstrip(": ")
