"""Filters, tests and methods of a chat template, for values that differ by conversation."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import tensorflow as tf
from jinja2 import Undefined

from keras_transformers.text.chat import graph_strings
from keras_transformers.text.chat.graph_cases import change_case
from keras_transformers.text.chat.graph_operators import (
    FIELDS,
    attribute,
    concatenate,
    cut,
    item,
    items_of,
    look_up,
    mismatch,
    operate,
    text,
)
from keras_transformers.text.chat.graph_paths import Paths, is_known, python
from keras_transformers.text.chat.graph_values import (
    SEQUENCES,
    Choice,
    Known,
    Message,
    Messages,
    NotCompiledError,
    Rows,
    Strings,
    Value,
    either,
    example,
    kind,
    message_of,
    negate,
    tensor,
    to_value,
    truth,
)

# What a test says of a value follows from its type.
OF_TYPES = {
    "defined", "undefined", "none", "string", "mapping", "sequence", "iterable", "number", "integer", "float",
    "boolean", "callable",
}  # fmt: skip
COMPARISONS = {
    "eq": "eq", "equalto": "eq", "==": "eq", "ne": "ne", "!=": "ne", "lt": "lt", "lessthan": "lt", "<": "lt",
    "le": "lteq", "<=": "lteq", "gt": "gt", "greaterthan": "gt", ">": "gt", "ge": "gteq", ">=": "gteq", "in": "in",
}  # fmt: skip
Arguments = tuple[list[Value], dict[str, Value]]


def apply_test(paths: Paths, name: str, value: Value, arguments: Arguments) -> Value:
    """Return `value is name(arguments)`."""
    if isinstance(value, Choice):
        return paths.each(value, lambda one: apply_test(paths, name, one, arguments))
    args, kwargs = arguments
    if all(map(is_known, [value, *args, *kwargs.values()])):
        call, names = paths.environment.call_test, list(kwargs)
        return paths.all_known(
            [value, *args, *kwargs.values()],
            lambda first, *rest: call(name, first, rest[: len(args)], dict(zip(names, rest[len(args) :], strict=True))),
        )
    if name in OF_TYPES:
        return Known(bool(paths.environment.call_test(name, example(value))))
    if name in ("true", "false") and kind(value) == "bool":
        return to_value(truth(value) if name == "true" else negate(truth(value)))
    if name in ("true", "false"):
        return Known(False)
    if name in COMPARISONS and len(args) == 1:
        return operate(paths, COMPARISONS[name], value, args[0])
    if name in ("odd", "even") and kind(value) == "int32":
        return operate(paths, "eq", operate(paths, "Mod", value, Known(2)), Known(int(name == "odd")))
    raise NotCompiledError(f"test {name!r}")


def apply_filter(paths: Paths, name: str, value: Value, arguments: Arguments) -> Value:
    """Return `value | name(arguments)`."""
    if isinstance(value, Choice):
        return paths.each(value, lambda one: apply_filter(paths, name, one, arguments))
    args, kwargs = arguments
    if name in ("default", "d"):
        return _default(paths, value, *args, **kwargs)
    if all(map(is_known, [value, *args, *kwargs.values()])):
        call, names, context = paths.environment.call_filter, list(kwargs), paths.context
        return paths.all_known(
            [value, *args, *kwargs.values()],
            lambda first, *rest: call(
                name, first, rest[: len(args)], dict(zip(names, rest[len(args) :], strict=True)), context=context
            ),
        )
    if name not in FILTERS:
        raise NotCompiledError(f"filter {name!r}")
    return _call(paths, f"filter {name!r}", FILTERS[name], value, arguments)


def call_method(paths: Paths, target: Value, name: str, arguments: Arguments) -> Value:
    """Return `target.name(arguments)` where the target or an argument differs by conversation."""
    if isinstance(target, Message) or (isinstance(target, Known) and isinstance(target.value, dict)):
        if name == "get":
            return _get(paths, target, *arguments[0])
        raise NotCompiledError(f"method {name!r} of a message")
    if kind(target) != "string" or name not in METHODS:
        found = attribute(paths, target, name)
        if isinstance(found, Known) and isinstance(found.value, Undefined):
            return paths.fail(message_of(found.value))
        raise NotCompiledError(f"method {name!r}")
    return _call(paths, f"method {name!r}", METHODS[name], target, arguments)


def _call(paths: Paths, construct: str, function: Callable[..., Value], value: Value, arguments: Arguments) -> Value:
    try:
        signature(function).bind(paths, value, *arguments[0], **arguments[1])
    except TypeError as error:
        raise NotCompiledError(f"{construct} with these arguments") from error
    return function(paths, value, *arguments[0], **arguments[1])


def _get(paths: Paths, target: Value, key: Value, default: Value | None = None) -> Value:
    default = default or Known(None)
    if isinstance(target, Known):
        return look_up(paths, target.value, key, default)
    if not isinstance(key, Known):
        raise NotCompiledError("method 'get' with a key that differs by conversation")
    return item(paths, target, key) if key.value in FIELDS else default


def _default(paths: Paths, value: Value, default_value: Value | None = None, boolean: Value | None = None) -> Value:
    default = default_value or Known("")
    if isinstance(value, Known) and isinstance(value.value, Undefined):
        return default
    return paths.branch(truth(value), lambda: value, lambda: default) if boolean and truth(boolean) is True else value


def _string(paths: Paths, value: Value, construct: str) -> tf.Tensor:
    found = text(paths, value)
    if kind(found) != "string":
        raise NotCompiledError(f"{construct} of this value")
    return tensor(found)


def _known(value: Value | None, construct: str, default: Any = None) -> Any:
    if value is not None and not is_known(value):
        raise NotCompiledError(f"{construct} that differs by conversation")
    return default if value is None else python(value)


def _strip(left: bool, right: bool) -> Callable[..., Value]:
    def strip(paths: Paths, value: Value, chars: Value | None = None) -> Value:
        known = _known(chars, "characters to strip")
        return Rows(graph_strings.strip(_string(paths, value, "'strip'"), known, left, right))

    return strip


def _split(paths: Paths, value: Value, sep: Value | None = None, maxsplit: Value | None = None) -> Value:
    most = _known(maxsplit, "number of splits", -1)
    return graph_strings.split(tensor(value), _known(sep, "separator"), most)


def _begins(at_end: bool) -> Callable[..., Value]:
    check = graph_strings.ends_with if at_end else graph_strings.starts_with

    def begins(paths: Paths, value: Value, affix: Value) -> Value:
        affixes = items_of(affix) or (affix,)
        if any(kind(one) != "string" for one in affixes):
            return mismatch(paths, str.endswith if at_end else str.startswith, [value, affix], "method 'startswith'")
        found: Any = False
        for one in affixes:
            found = either(found, check(tensor(value), tensor(one)))
        return to_value(found)

    return begins


def _replace(paths: Paths, value: Value, old: Value, new: Value, count: Value | None = None) -> Value:
    known = [_known(one, "text to replace") for one in (old, new)]
    if _known(count, "number of replacements") is not None:
        raise NotCompiledError("a number of replacements")
    return Rows(graph_strings.replace(_string(paths, value, "'replace'"), *known))


def _case(name: str) -> Callable[..., Value]:
    def change(paths: Paths, value: Value) -> Value:
        return Rows(change_case(_string(paths, value, f"{name!r}"), name))

    return change


def _join(paths: Paths, value: Value, d: Value | None = None, attribute_: Value | None = None) -> Value:
    separator = _known(d, "separator", "")
    if isinstance(value, Strings):
        return Rows(graph_strings.join(value, separator))
    values = items_of(value)
    if values is None or attribute_ is not None:
        raise NotCompiledError("filter 'join' of this list")
    return concatenate(paths, [part for one in values for part in (Known(separator), one)][1:])


def _length(paths: Paths, value: Value) -> Value:
    if isinstance(value, SEQUENCES):
        return Rows(value.count)
    if kind(value) == "string":
        return Rows(graph_strings.length(tensor(value)))
    return mismatch(paths, len, [value], "filter 'length'") if isinstance(value, Rows) else Known(len(example(value)))


def _end(place: int) -> Callable[..., Value]:
    def end(paths: Paths, value: Value) -> Value:
        return paths.each(item(paths, value, Known(place)), lambda found: _named(paths, found, place))

    return end


def _named(paths: Paths, found: Value, place: int) -> Value:
    if isinstance(found, Known) and isinstance(found.value, Undefined):
        where = "first" if place == 0 else "last"
        return Known(paths.environment.undefined(f"No {where} item, sequence was empty."))
    return found


def _list(paths: Paths, value: Value) -> Value:
    if kind(value) == "string":
        raise NotCompiledError("filter 'list' of a text")
    return value


def _reverse(paths: Paths, value: Value) -> Value:
    return cut(paths, value, [Known(None), Known(None), Known(-1)])


def _map(paths: Paths, value: Value, attribute: Value | None = None) -> Value:
    name = _known(attribute, "attribute")
    if not isinstance(value, Messages) or name not in FIELDS:
        raise NotCompiledError(f"filter 'map' with attribute {name!r}")
    texts = value.role if name == "role" else value.content
    rows, width = tf.shape(texts)[0], tf.shape(texts)[1]
    return Strings(tf.reshape(texts, [-1]), tf.range(rows) * width, value.count)


def _select(keep: bool) -> Callable[..., Value]:
    def select(paths: Paths, value: Value, name: Value, test: Value | None = None, *args: Value) -> Value:
        known = _known(name, "attribute")
        if kind(value) == "string":  # its characters have no attributes
            of_each = attribute(paths, value, known)
            kept = of_each if test is None else apply_test(paths, _known(test, "test"), of_each, (list(args), {}))
            if truth(kept) is not keep:
                return Known([])
        if not isinstance(value, Messages):
            raise NotCompiledError("filter 'selectattr' of this list")
        one = Message(value.role, value.content)  # (B, T): the operators work on any shape
        found = attribute(paths, one, known)
        passed = truth(found if test is None else apply_test(paths, _known(test, "test"), found, (list(args), {})))
        passed = passed if keep else negate(passed)
        there = tf.sequence_mask(value.count, tf.shape(value.role)[1])
        passed = there & passed
        order = tf.argsort(tf.cast(passed, tf.int32), direction="DESCENDING", stable=True)
        return Messages(*value.take(order), tf.reduce_sum(tf.cast(passed, tf.int32), 1))

    return select


def _to_json(paths: Paths, value: Value, **options: Value) -> Value:
    if kind(value) != "string" or options.keys() - {"indent", "separators", "ensure_ascii"}:
        raise NotCompiledError("filter 'tojson' of this value")
    if _known(options.get("ensure_ascii"), "ensure_ascii", False):
        raise NotCompiledError("filter 'tojson' with ensure_ascii")
    return Rows(graph_strings.to_json(tensor(value)))


def _same(paths: Paths, value: Value) -> Value:
    if kind(value) != "int32":
        raise NotCompiledError("filter 'int' of this value")
    return value


FILTERS: dict[str, Callable[..., Value]] = {
    "trim": _strip(True, True), "string": text, "length": _length, "count": _length, "replace": _replace,
    "upper": _case("upper"), "lower": _case("lower"), "capitalize": _case("capitalize"), "title": _case("title"),
    "join": _join, "first": _end(0), "last": _end(-1), "list": _list, "reverse": _reverse, "map": _map,
    "selectattr": _select(True), "rejectattr": _select(False), "tojson": _to_json, "int": _same,
}  # fmt: skip
METHODS: dict[str, Callable[..., Value]] = {
    "strip": _strip(True, True), "lstrip": _strip(True, False), "rstrip": _strip(False, True), "split": _split,
    "startswith": _begins(False), "endswith": _begins(True), "replace": _replace, "upper": _case("upper"),
    "lower": _case("lower"), "capitalize": _case("capitalize"),
    "join": lambda paths, separator, values: _join(paths, values, separator),
}  # fmt: skip
