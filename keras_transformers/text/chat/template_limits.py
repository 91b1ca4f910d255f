"""Limits of chat templates: how long one may run, and how long the texts and lists are that it may make.

A template comes with a checkpoint, and a server runs it at each request: nested loops, repeated texts and widths of
formats must end in an error, not in a process without time or memory.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

import jinja2
from jinja2 import nodes, pass_context, pass_eval_context
from jinja2.exceptions import SecurityError
from jinja2.filters import make_attrgetter
from jinja2.runtime import Macro, markup_join
from jinja2.sandbox import ImmutableSandboxedEnvironment

from keras_transformers.text.chat.template_guards import COUNTED, JOINED, WEIGHED, Guards
from keras_transformers.text.chat.template_weights import NESTING, weight_of

SECONDS = 10.0
MOST_CHARACTERS, MOST_ITEMS, MOST_BITS = 10_000_000, 1_000_000, 1024  # of a text, of a list, of an integer
# A width in a format with %, perhaps behind a key, which may hold parentheses; no part is read twice.
WIDE = re.compile(r"[%)][#0\- +]*(\d{5,}|\*|\d*\.(\d{5,}|\*))")
WIDE_FIELD = re.compile(r"\{[^{}:]*:[^{}]*?(\d{5,}|\{)")
_end: ContextVar[float | None] = ContextVar("end", default=None)


class LimitError(SecurityError):
    """A template goes beyond a limit."""


class LimitedTemplate(jinja2.Template):
    """A template that is stopped in the first loop or call after `SECONDS`."""

    def render(self, *arguments: Any, **variables: Any) -> str:
        """Return the text; see `jinja2.Template.render`."""
        with _limited_time():
            return super().render(*arguments, **variables)


@contextmanager
def _limited_time() -> Iterator[None]:
    token = _end.set(time.monotonic() + SECONDS)
    try:
        yield
    finally:
        _end.reset(token)


class LimitedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with limits of time and memory, checked before the work."""

    template_class = LimitedTemplate
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.filters |= {name: guarded(each, FILTERS.get(name)) for name, each in self.filters.items()}
        self.filters |= {COUNTED: _counted, JOINED: _concatenated, WEIGHED: _weighed}
        del self.filters["urlize"], self.globals["lipsum"]

    concat = staticmethod(lambda pieces: _joined(pieces))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Return what an operator makes of two values."""
        return limited(operator)(left, right)

    def call(self, context: Any, function: Any, /, *arguments: Any, **named: Any) -> Any:
        """Return what a function of the template, or a method of a value, returns."""
        _check_time()
        method = getattr(function, "__wrapped__", function)  # Jinja wraps str.format
        name, text = getattr(method, "__name__", ""), getattr(method, "__self__", None)
        if isinstance(text, (str, bytes)) and name in METHODS:
            if name == "join" and len(arguments) == 1:
                arguments = ([*arguments[0]],)  # it may be a generator
            METHODS[name](text, *arguments, **{key: named[key] for key in named if key not in OF_JINJA})
        if isinstance(function, Macro):  # it makes a tuple of them
            _check_weight((arguments, named))
        if name == "to_bytes" and isinstance(text, int):
            _check_size(max([each for each in (*arguments, *named.values()) if isinstance(each, int)], default=1))
        return _checked(super().call(context, function, *arguments, **named))

    def _generate(self, source: nodes.Template, *arguments: Any, **options: Any) -> str:
        with _limited_time():  # filters of constants are computed here
            return super()._generate(Guards(self).visit(source), *arguments, **options)


OF_JINJA = ("_loop_vars", "_block_vars")  # what its code gives to calls besides their arguments


def _check_time() -> None:
    end = _end.get()
    if end is not None and time.monotonic() > end:
        raise LimitError(f"it runs for more than {SECONDS:g} seconds")


def _check_size(size: Any, most: int = MOST_CHARACTERS) -> None:
    if isinstance(size, int) and size > most:
        what = {MOST_CHARACTERS: "a text of more than {:,} characters", MOST_ITEMS: "a list of more than {:,} items"}
        raise LimitError("it makes " + what.get(most, "a number of more than {:,} bits").format(most))


def _length(value: Any) -> int:
    """Return a number as it is, and the length of a text."""
    return len(value) if isinstance(value, (str, bytes)) else value if isinstance(value, int) else 0


@pass_context  # so that no constant is put in place of it
def _counted(context: Any, values: Iterable) -> Iterator:
    for value in values:
        _check_time()
        yield _checked(value)


@pass_context
def _weighed(context: Any, value: Any) -> Any:
    return _checked(value)


def _checked(value: Any) -> Any:
    """Return what a call or a filter returned, or a list of the template, unless it is too much."""
    if isinstance(value, (str, bytes)):
        _check_size(len(value))
    elif isinstance(value, NESTING):
        _check_weight(value)
    return value


def _check_weight(value: Any) -> None:
    if isinstance(value, (list, tuple)):
        _check_size(len(value), MOST_ITEMS)
    if weight_of(value) > MOST_CHARACTERS:
        raise LimitError(f"it makes a list that is written as a text of more than {MOST_CHARACTERS:,} characters")


def _joined(pieces: Iterable[str]) -> str:
    kept, size = [], 0
    for piece in pieces:
        kept.append(piece)
        size += len(piece)
        _check_size(size)
    return "".join(kept)


@pass_eval_context
def _concatenated(context: Any, values: list) -> str:
    text = _joined(map(str, values))
    return markup_join(values) if context.autoescape else text


def _add(left: Any, right: Any) -> None:
    for kind, most in ((str, MOST_CHARACTERS), ((list, tuple), MOST_ITEMS)):
        if isinstance(left, kind) and isinstance(right, kind):
            _check_size(len(left) + len(right), most)


def _multiply(left: Any, right: Any) -> None:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, (str, bytes, list, tuple)) and isinstance(other, int):
            _check_size(len(one) * other, MOST_CHARACTERS if isinstance(one, (str, bytes)) else MOST_ITEMS)
    if isinstance(left, int) and isinstance(right, int):
        _check_size(left.bit_length() + right.bit_length(), MOST_BITS)


def _raise_to(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        _check_size(left.bit_length() * right, MOST_BITS)


def _remainder(left: Any, right: Any) -> None:
    if isinstance(left, str):
        _check_filled(left, "%", WIDE, right if isinstance(right, (tuple, Mapping)) else (right,))


def _check_filled(text: str, mark: str, wide: re.Pattern[str], values: Any) -> None:
    """Check what a format becomes with values in place of its marks."""
    if found := wide.search(text):
        raise LimitError(f"it formats with {found[0]!r}: a width has at most four digits, and stands in the format")
    values = values.values() if isinstance(values, Mapping) else values
    _check_size(len(text) + text.count(mark) * max((len(str(value)) for value in values), default=0))


def _fields(text: Any, *arguments: Any, **named: Any) -> None:
    _check_filled(text, "{", WIDE_FIELD, (*arguments, *named.values()))


def _replaced(text: Any, old: Any, new: Any, *rest: Any, **named: Any) -> None:
    text, old, new = (part if isinstance(part, (str, bytes)) else str(part) for part in (text, old, new))
    _check_size(len(text) + text.count(old) * len(new))


def _wrapped(s: Any, width: Any = 79, break_long_words: Any = True, wrapstring: Any = "", *_: Any, **__: Any) -> None:
    _check_size(len(s) * max(1, _length(wrapstring)))
    longest = max(map(len, str(s).split()), default=0)
    _check_size(longest * longest // (1000 * max(1, _length(width))))  # its rest is copied at each line


def _translated(text: Any, table: Any) -> None:
    values = table.values() if isinstance(table, Mapping) else ()
    _check_size(len(text) * max(map(_length_of_text, values), default=1))


def _length_of_text(value: Any) -> int:
    return len(value) if isinstance(value, str) else 1


def _check_start(values: Any, attribute: Any = None, start: Any = 0) -> None:
    if not isinstance(start, (int, float)):
        raise LimitError(f"it sums from {type(start).__name__} on: only numbers are summed")


def guarded(function: Callable, check: Callable[..., None] | None = None) -> Callable:
    """Return a filter that looks at the time and at what it returns, and checks its arguments before."""
    passed = 1 if hasattr(function, "jinja_pass_arg") else 0  # Jinja's own first argument

    @wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        _check_time()
        if check is _check_joined:
            arguments, named = _join_arguments(*arguments, **named), {}
        if check is not None:
            check(*arguments[passed:], **named)
        return _checked(function(*arguments, **named))

    return checked


def _join_arguments(context: Any, value: Any, d: Any = "", attribute: Any = None) -> tuple:
    get = None if attribute is None else make_attrgetter(context.environment, attribute)
    return context, [*value] if get is None else [*map(get, value)], d


def _check_joined(value: Any, d: Any) -> None:
    _check_size(sum(len(str(item)) for item in value) + len(str(d)) * len(value))


OPERATORS = {"+": _add, "*": _multiply, "**": _raise_to, "%": _remainder}


def limited(symbol: str) -> Callable[[Any, Any], Any]:
    """Return a binary operator of Python that first checks how long what it makes is.

    Args:
        symbol: `"+"`, `"*"`, `"**"` or `"%"`.

    Raises:
        LimitError: The operator is called for more than a template may make.

    Example:

    >>> limited("*")("ab", 2)
    'abab'
    """
    check, operator = OPERATORS[symbol], ImmutableSandboxedEnvironment.default_binop_table[symbol]

    def checked(left: Any, right: Any) -> Any:
        check(left, right)
        return _checked(operator(left, right))

    return checked


METHODS: dict[str, Callable[..., None]] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), lambda text, width, *_: _check_size(width)),
    "expandtabs": lambda text, tabsize=8: _check_size(len(text) * _length(tabsize)),
    "replace": _replaced,
    "translate": _translated,
    "join": lambda text, values: _check_joined(values, text),
    "format": _fields,
    "format_map": lambda text, values: _check_filled(text, "{", WIDE_FIELD, values),
}
FILTERS: dict[str, Callable[..., None]] = {
    "center": lambda value, width=80: _check_size(width),
    "indent": lambda s, width=4, *_, **__: _check_size((str(s).count("\n") + 1) * _length(width)),
    "wordwrap": _wrapped,
    "batch": lambda value, linecount, fill_with=None: _check_size(linecount, MOST_ITEMS),
    "slice": lambda value, slices, fill_with=None: _check_size(slices, MOST_ITEMS),
    "round": lambda value, precision=0, method="common": _check_size(precision, MOST_BITS),
    "replace": _replaced,
    "join": _check_joined,
    "format": lambda value, *arguments, **named: _remainder(str(value), named or arguments),
    "sum": _check_start,
}
