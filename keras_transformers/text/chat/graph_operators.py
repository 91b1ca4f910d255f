"""Operators of expressions in a chat template: arithmetic, comparison, membership, items and slices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from jinja2 import Undefined
from markupsafe import soft_str

from keras_transformers.text.chat import graph_strings
from keras_transformers.text.chat.graph_paths import Paths, is_known, python
from keras_transformers.text.chat.graph_values import (
    SEQUENCES,
    Choice,
    Condition,
    Items,
    Known,
    Message,
    Messages,
    NotCompiledError,
    Range,
    Rows,
    Strings,
    Value,
    either,
    example,
    kind,
    negate,
    tensor,
    to_value,
    truth,
)
from keras_transformers.text.chat.template_limits import limited

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "Add": limited("+"), "Sub": operator.sub, "Mul": limited("*"), "Div": operator.truediv, "Pow": limited("**"),
    "FloorDiv": operator.floordiv, "Mod": limited("%"), "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "lteq": operator.le, "gt": operator.gt, "gteq": operator.ge, "in": lambda a, b: a in b,
    "notin": lambda a, b: a not in b,
}  # fmt: skip
OF_INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": tf.add, "Sub": tf.subtract, "Mul": tf.multiply, "lt": tf.less, "lteq": tf.less_equal, "gt": tf.greater,
    "gteq": tf.greater_equal,
}  # fmt: skip
DIVISIONS = {"Mod": tf.math.floormod, "FloorDiv": tf.math.floordiv}
FIELDS = ("role", "content")


class Facts:
    """A value with attributes: a namespace, or `loop`.

    Args:
        read: Function from the name of an attribute to its value; raises KeyError for others.
    """

    def __init__(self, read: Callable[[str], Value]):
        self.read = read


def text(paths: Paths, value: Value) -> Value:
    """Return a value as text, as Jinja writes it."""
    if isinstance(value, Choice):
        return paths.each(value, lambda one: text(paths, one))
    if is_known(value):
        return paths.all_known([value], soft_str)
    if not isinstance(value, Rows):
        raise NotCompiledError("text of a message or a list")
    if value.tensor.dtype == tf.bool:
        return Rows(tf.where(value.tensor, "True", "False"))
    return value if value.tensor.dtype == tf.string else Rows(tf.strings.as_string(value.tensor))


def concatenate(paths: Paths, values: list[Value]) -> Value:
    """Return the text of several values."""
    result: Value = Known("")
    for value in values:
        result = operate(paths, "Add", result, text(paths, value))
    return result


def operate(paths: Paths, name: str, left: Value, right: Value) -> Value:
    """Apply a binary operator of Python, named as in Jinja's syntax tree."""
    if isinstance(left, Choice) or isinstance(right, Choice):
        return paths.each(left, lambda a: paths.each(right, lambda b: operate(paths, name, a, b)))
    if is_known(left) and is_known(right):
        return paths.all_known([left, right], PYTHON[name])
    if name in ("eq", "ne"):
        found = equal(left, right)
        return to_value(found if name == "eq" else negate(found))
    if name in ("in", "notin"):
        found = member(paths, left, right)
        return to_value(found if name == "in" else negate(found))
    kinds = kind(left), kind(right)
    if name == "Mod" and kinds[0] == "string":  # what it raises depends on the text, not on types alone
        raise NotCompiledError("formatting of a text by '%'")
    if kinds == ("int32", "int32") and name in OF_INTEGERS:
        return Rows(OF_INTEGERS[name](tensor(left), tensor(right)))
    if kinds == ("int32", "int32") and name in DIVISIONS and isinstance(right, Known) and right.value:
        return Rows(DIVISIONS[name](tensor(left), tensor(right)))
    if name == "Add" and kinds == ("string", "string"):
        if any(isinstance(one, Known) and not one.value for one in (left, right)):
            return left if isinstance(left, Rows) else right
        return Rows(tf.strings.join([tensor(left), tensor(right)]))
    if name == "Add" and (joined := _add_lists(left, right)):
        return joined
    return mismatch(paths, PYTHON[name], [left, right], f"operator {name!r}")


def _add_lists(left: Value, right: Value) -> Value | None:
    if isinstance(left, Messages) or isinstance(right, Messages):
        if () in (items_of(left), items_of(right)):
            return left if isinstance(left, Messages) else right
        pair = [messages_of(value) for value in (left, right)]
        return pair[0].concatenate(pair[1]) if pair[0] and pair[1] else None
    lists = [items_of(value) for value in (left, right)]
    return None if None in lists else Items(tuple(value for values in lists for value in values or ()))


def messages_of(value: Value) -> Messages | None:
    """Return a list of messages as such, whether written in the template or given."""
    values = items_of(value)
    if isinstance(value, Messages) or values is None:
        return value if isinstance(value, Messages) else None
    rows = [item for item in values if isinstance(item, Message)]
    if len(rows) < len(values) or not rows:
        return None
    roles, contents = (tf.stack([getattr(row, name) for row in rows], 1) for name in FIELDS)
    return Messages(roles, contents, tf.fill([tf.shape(roles)[0]], len(rows)))


def items_of(value: Value) -> tuple[Value, ...] | None:
    """Return the values of a list that is as long for all conversations."""
    if isinstance(value, Items):
        return value.values
    is_list = isinstance(value, Known) and isinstance(value.value, (list, tuple))
    return tuple(Known(item) for item in python(value)) if is_list else None


def mismatch(paths: Paths, function: Callable[..., Any], values: list[Value], construct: str) -> Any:
    """Give the conversations the error that Python raises for values of these types, or refuse the construct."""
    try:
        function(*map(example, values))
    except (ArithmeticError, ValueError, LookupError):  # these depend on the values, not on types alone
        pass
    except Exception as error:
        return paths.fail(str(error))
    raise NotCompiledError(f"{construct} on values that differ by conversation")


def equal(left: Value, right: Value) -> Condition:
    """Return whether two values are equal, not both of them known."""
    kinds = {kind(left), kind(right)}
    if len(kinds) == 1 and kinds <= {"string", "bool", "int32"}:
        return tf.equal(tensor(left), tensor(right))
    if kinds == {"bool", "int32"}:
        return tf.equal(tf.cast(tensor(left), tf.int32), tf.cast(tensor(right), tf.int32))
    if isinstance(left, Message) and isinstance(right, Message):
        return tf.equal(left.role, right.role) & tf.equal(left.content, right.content)
    pair = [value.value if isinstance(value, Known) else value for value in (left, right)]
    if any(isinstance(one, (dict, list, tuple, Items)) for one in pair) or len(kinds) == 1:
        raise NotCompiledError("comparison of lists or messages")
    return False


def member(paths: Paths, item: Value, container: Value) -> Condition:
    """Return whether a value is in another one, not both of them known."""
    known = container.value if isinstance(container, Known) else None
    values = tuple(map(Known, known)) if isinstance(known, (dict, set, frozenset)) else items_of(container)
    if isinstance(container, Message):
        values = tuple(map(Known, FIELDS))
    if values is not None:
        found: Condition = False
        for value in values:
            found = either(found, truth(operate(paths, "eq", item, value)))
        return found
    if kind(container) == kind(item) == "string" and isinstance(item, Known):
        return graph_strings.contains(tensor(container), item.value)
    if isinstance(container, Strings) and kind(item) == "string":
        return graph_strings.holds(container, tensor(item))
    return truth(mismatch(paths, PYTHON["in"], [item, container], "operator 'in'"))


def attribute(paths: Paths, target: Value, name: str) -> Value:
    """Return `target.name`."""
    if isinstance(target, Choice):
        return paths.each(target, lambda one: attribute(paths, one, name))
    environment = paths.environment
    if isinstance(target, Known):
        if not isinstance(target.value, Facts):
            return paths.all_known([target], lambda value: environment.getattr(value, name))
        try:
            return target.value.read(name)
        except KeyError:
            return Known(environment.undefined(obj=target.value, name=name))
    if isinstance(target, Message) and name in FIELDS:
        return target.to_text(name)
    found = environment.getattr(example(target), name)
    if not isinstance(found, Undefined):
        raise NotCompiledError(f"attribute {name!r}")
    return Known(found)


def item(paths: Paths, target: Value, key: Value) -> Value:
    """Return `target[key]`."""
    if isinstance(target, Choice) or isinstance(key, Choice):
        return paths.each(target, lambda a: paths.each(key, lambda b: item(paths, a, b)))
    if isinstance(target, Known) and isinstance(target.value, Facts) and isinstance(key, Known):
        return attribute(paths, target, key.value)
    if is_known(target) and is_known(key):
        return paths.all_known([target, key], paths.environment.getitem)
    if isinstance(target, Known) and isinstance(target.value, dict):
        return look_up(paths, target.value, key, Known(paths.environment.undefined("dict object has no such element")))
    if isinstance(target, Message) and isinstance(key, Known) and key.value in FIELDS:
        return target.to_text(key.value)
    if kind(key) == "int32" and (isinstance(target, SEQUENCES) or kind(target) == "string"):
        return _element(paths, target, key)
    values = items_of(target)
    if values and kind(key) == "int32":
        table = {place: values[place] for place in range(-len(values), len(values))}
        return look_up(paths, table, key, Known(paths.environment.undefined("no element has this number")))
    found = paths.all_known([Known(example(target)), key], paths.environment.getitem) if is_known(key) else None
    if found is None or not isinstance(found, Known) or not isinstance(found.value, Undefined):
        raise NotCompiledError("item of a value that differs by conversation")
    return found


def look_up(paths: Paths, table: dict[Any, Any], key: Value, default: Value) -> Value:
    """Return the value of a key that differs by conversation."""
    if not table:
        return default
    (first, value), *rest = table.items()
    found = truth(operate(paths, "eq", key, Known(first)))
    value = value if isinstance(value, (Rows, Message, Items, Known)) else Known(value)
    return paths.branch(found, lambda: value, lambda: look_up(paths, dict(rest), key, default))


def _element(paths: Paths, target: Value, key: Value) -> Value:
    """Return an element of a list or a character of a text, or an undefined value behind its end."""
    is_text = kind(target) == "string"
    size = graph_strings.length(tensor(target)) if is_text else target.count  # type: ignore[union-attr]
    place = tensor(key) + tf.zeros_like(size)
    place = tf.where(place < 0, place + size, place)
    inside = (place >= 0) & (place < size)
    if is_text:
        start = tf.clip_by_value(place, 0, size)
        found: Value = Rows(graph_strings.slice_(tensor(target), start, start + 1))
    else:
        found = target.item(place)  # type: ignore[union-attr]
    undefined, of = paths.environment.undefined, "" if is_text else []
    is_constant = isinstance(key, Known)
    outside = undefined(obj=of, name=python(key)) if is_constant else undefined("no element has this number")
    return Choice(((inside, found), (~inside, Known(outside))))


def cut(paths: Paths, target: Value, bounds: list[Value]) -> Value:
    """Return `target[start:stop:step]`."""
    if isinstance(target, Choice):
        return paths.each(target, lambda one: cut(paths, one, bounds))
    if is_known(target) and all(map(is_known, bounds)):
        return paths.all_known([target, *bounds], lambda value, *b: paths.environment.getitem(value, slice(*b)))
    places = [None if kind(value) == "none" else value for value in bounds]
    step = python(places[2]) if places[2] is not None and is_known(places[2]) else 1
    if any(value is not None and kind(value) != "int32" for value in places) or step not in (1, -1):
        raise NotCompiledError("slice with these bounds")
    start, stop = (None if value is None else tensor(value) for value in places[:2])
    if isinstance(target, Messages):
        return _cut_messages(target, start, stop, step)
    if kind(target) == "string" and step == 1:
        return Rows(graph_strings.slice_(tensor(target), start, stop))
    if isinstance(target, (Strings, Range)) and step == 1:
        first, last = (
            graph_strings.bounds(target.count, start, 0),
            graph_strings.bounds(target.count, stop, target.count),
        )
        count = tf.maximum(last - first, 0)
        if isinstance(target, Strings):
            return Strings(target.flat, target.start + first, count)
        return Range(target.start + first * target.step, target.step, count)
    if isinstance(target, Items) and all(map(is_known, bounds)):
        return Items(target.values[slice(*map(python, bounds))])
    raise NotCompiledError("slice of this value")


def _cut_messages(target: Messages, start: tf.Tensor | None, stop: tf.Tensor | None, step: int) -> Value:
    column = tf.range(tf.shape(target.role)[1])[None]
    if step < 0:
        if start is not None or stop is not None:
            raise NotCompiledError("backward slice with bounds")
        return Messages(*target.take(target.count[:, None] - 1 - column), target.count)
    first = graph_strings.bounds(target.count, start, 0)
    last = graph_strings.bounds(target.count, stop, target.count)
    return Messages(*target.take(first[:, None] + column), tf.maximum(last - first, 0))
