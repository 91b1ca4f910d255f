"""Values of a chat template while it is compiled: known in Python, or one for each conversation of a batch."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import tensorflow as tf
from jinja2 import Undefined, UndefinedError

Condition: TypeAlias = Any  # bool, or a (B,) bool tensor


class NotCompiledError(ValueError):
    """Refuse a part of a template; the line is added where it is known.

    Args:
        construct: Name of the part.
    """

    def __init__(self, construct: str):
        super().__init__(construct)
        self.line: int | None = None


@dataclass(frozen=True, eq=False)
class Known:
    """A Python value that all conversations share."""

    value: Any


@dataclass(frozen=True, eq=False)
class Rows:
    """A string, bool or int of each conversation, a tensor (B,) or ()."""

    tensor: tf.Tensor


@dataclass(frozen=True, eq=False)
class Message:
    """A message of each conversation, two strings (B,)."""

    role: tf.Tensor
    content: tf.Tensor

    def to_text(self, name: str) -> Rows:
        return Rows(self.role if name == "role" else self.content)


@dataclass(frozen=True, eq=False)
class Messages:
    """A list of messages of each conversation: strings (B, T), of which the first `count` (B,) are there."""

    role: tf.Tensor
    content: tf.Tensor
    count: tf.Tensor

    def item(self, at: tf.Tensor) -> Message:
        role, content = self.take(at[:, None])
        return Message(role[:, 0], content[:, 0])

    def take(self, at: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return roles and contents at indices (B, T), which may lie outside."""
        at = tf.clip_by_value(at, 0, tf.shape(self.role)[1] - 1)
        return tf.gather(self.role, at, batch_dims=1), tf.gather(self.content, at, batch_dims=1)

    def widen(self, width: tf.Tensor) -> Messages:
        """Pad to at least `width` messages."""
        padding = [[0, 0], [0, tf.maximum(width - tf.shape(self.role)[1], 0)]]
        return Messages(
            tf.pad(self.role, padding, constant_values=""),
            tf.pad(self.content, padding, constant_values=""),
            self.count,
        )

    def concatenate(self, other: Messages) -> Messages:
        """Return the messages of this list, followed by the messages of another one."""
        size, own = tf.shape(self.role)[1], self.count[:, None]
        column = tf.range(size + tf.shape(other.role)[1])[None]
        places = tf.where(column < own, column, size + column - own)
        joined = Messages(
            tf.concat([self.role, other.role], 1), tf.concat([self.content, other.content], 1), self.count + other.count
        )
        return replace(joined, **dict(zip(("role", "content"), joined.take(places), strict=True)))


@dataclass(frozen=True, eq=False)
class Strings:
    """A list of strings of each conversation: `count` (B,) of `flat` (N,), from `start` (B,)."""

    flat: tf.Tensor
    start: tf.Tensor
    count: tf.Tensor

    def item(self, at: tf.Tensor) -> Rows:
        flat = tf.concat([self.flat, [""]], 0)
        return Rows(tf.gather(flat, tf.clip_by_value(self.start + at, 0, tf.size(self.flat))))


@dataclass(frozen=True, eq=False)
class Range:
    """A range of integers of each conversation: `count` (B,) from `start` (B,), `step` (B,) apart."""

    start: tf.Tensor
    step: tf.Tensor
    count: tf.Tensor

    def item(self, at: tf.Tensor) -> Rows:
        return Rows(self.start + at * self.step)


@dataclass(frozen=True, eq=False)
class Items:
    """A list of as many values for all conversations, not all of them known."""

    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """Values of several kinds: each with the conversations that have it."""

    options: tuple[tuple[Condition, Value], ...]


Value: TypeAlias = Known | Rows | Message | Messages | Strings | Range | Items | Choice
TENSORS = (Rows, Message, Messages, Strings, Range)
SEQUENCES = (Messages, Strings, Range)


def both(a: Condition, b: Condition) -> Condition:
    """Return where two conditions hold."""
    if isinstance(a, bool):
        return b if a else False
    return both(b, a) if isinstance(b, bool) else a & b


def negate(a: Condition) -> Condition:
    """Return where a condition does not hold."""
    return not a if isinstance(a, bool) else ~a


def either(a: Condition, b: Condition) -> Condition:
    """Return where at least one of two conditions holds."""
    return negate(both(negate(a), negate(b)))


def to_value(condition: Condition) -> Value:
    """Return a condition as the value of an expression."""
    return Known(condition) if isinstance(condition, bool) else Rows(condition)


def message_of(undefined: Undefined) -> str:
    """Return the words of the error that the use of an undefined value brings."""
    try:
        undefined["name"]
    except UndefinedError as error:
        return str(error)
    raise AssertionError(undefined)


def example(value: Value) -> Any:
    """Return a Python object of a value's type: Python's errors of types are the same for it."""
    if isinstance(value, Known):
        return value.value
    if isinstance(value, Rows):
        return {"string": "", "bool": False, "int32": 1}[value.tensor.dtype.name]
    if isinstance(value, Items):
        return [example(item) for item in value.values]
    return {"role": "", "content": ""} if isinstance(value, Message) else []


def kind(value: Value) -> Hashable:
    """Return equal kinds for values that one tensor, or one known value, can hold."""
    if isinstance(value, Rows):
        return value.tensor.dtype.name
    if isinstance(value, Items):
        return "items", len(value.values)
    if not isinstance(value, Known):
        return type(value).__name__
    for types, name in ((bool, "bool"), (str, "string"), (int, "int32"), (type(None), "none")):
        if isinstance(value.value, types):
            return name
    if isinstance(value.value, Undefined):
        return "undefined", message_of(value.value)
    if isinstance(value.value, (list, tuple, dict, float)):
        return "data", repr(value.value)  # a loop that is traced again makes equal ones
    return "known", id(value.value)


def options(value: Value) -> tuple[tuple[Condition, Value], ...]:
    """Return the kinds of a value, each with the conversations that have it."""
    return value.options if isinstance(value, Choice) else ((True, value),)


def tensor(value: Value) -> tf.Tensor:
    """Return a string, bool or int as a tensor."""
    if isinstance(value, Rows):
        return value.tensor
    if not isinstance(value, Known) or hasattr(value.value, "__html__"):
        raise NotCompiledError("text marked as safe")
    if isinstance(value.value, int) and not isinstance(value.value, bool) and not -(2**31) <= value.value < 2**31:
        raise NotCompiledError(f"number {value.value}, which 32 bits cannot hold,")
    return tf.constant(value.value.encode(errors="replace") if isinstance(value.value, str) else value.value)


def is_same(a: Value, b: Value) -> bool:
    """Return whether two values are one, so that no selection is needed."""
    if a is b:
        return True
    if isinstance(a, Rows) and isinstance(b, Rows):
        return a.tensor is b.tensor
    if not (isinstance(a, Known) and isinstance(b, Known) and kind(a) == kind(b)):
        return False
    return a.value == b.value if isinstance(a.value, (bool, str, int)) else True


def select(condition: tf.Tensor, a: Value, b: Value) -> Value:
    """Return `a` where the condition holds, else `b`, of the same kind."""
    if is_same(a, b) or (isinstance(kind(a), tuple) and not isinstance(a, Items)):
        return a
    if isinstance(a, Items) and isinstance(b, Items):
        return Items(tuple(merge(condition, *pair) for pair in zip(a.values, b.values, strict=True)))
    if isinstance(a, Messages) and isinstance(b, Messages):
        a, b = a.widen(tf.shape(b.role)[1]), b.widen(tf.shape(a.role)[1])
        condition = condition[:, None]
        role, content = tf.where(condition, a.role, b.role), tf.where(condition, a.content, b.content)
        return Messages(role, content, tf.where(condition[:, 0], a.count, b.count))
    if isinstance(a, Strings) and isinstance(b, Strings):
        start = tf.where(condition, a.start, b.start + tf.size(a.flat))
        return Strings(tf.concat([a.flat, b.flat], 0), start, tf.where(condition, a.count, b.count))
    if isinstance(a, (Message, Range)):
        return type(a)(*(tf.where(condition, x, y) for x, y in zip(parts(a), parts(b), strict=True)))
    return Rows(tf.where(condition, tensor(a), tensor(b)))


def merge(condition: Condition, a: Value, b: Value) -> Value:
    """Return `a` where the condition holds, else `b`."""
    if isinstance(condition, bool):
        return a if condition else b
    if is_same(a, b):
        return a
    found: dict[Hashable, tuple[Condition, Value]] = {kind(v): (both(condition, mask), v) for mask, v in options(a)}
    for mask, value in options(b):
        mask, name = both(negate(condition), mask), kind(value)
        if name in found:
            mask, value = either(found[name][0], mask), select(condition, found[name][1], value)
        found[name] = mask, value
    return Choice(tuple(found.values())) if len(found) > 1 else value


def truth(value: Value) -> Condition:
    """Return whether Python takes a value for true."""
    if isinstance(value, Choice):
        found: Condition = False
        for mask, option in value.options:
            found = either(found, both(mask, truth(option)))
        return found
    if isinstance(value, Rows):
        empty = {"string": "", "bool": False, "int32": 0}[value.tensor.dtype.name]
        return value.tensor if empty is False else tf.not_equal(value.tensor, empty)
    if isinstance(value, SEQUENCES):
        return value.count > 0
    return bool(value.value if isinstance(value, Known) else value.values if isinstance(value, Items) else True)


def parts(value: Value) -> tuple[tf.Tensor, ...]:
    """Return the tensors of a value: a loop carries them."""
    if isinstance(value, Items):
        return tuple(part for item in value.values for part in parts(item))
    if isinstance(value, TENSORS):
        return tuple(vars(value).values())
    return (tensor(value),) if kind(value) in ("string", "bool", "int32") else ()


def with_parts(value: Value, tensors: Iterator[tf.Tensor]) -> Value:
    """Return a value like `value` that holds the next tensors."""
    if isinstance(value, Items):
        return Items(tuple(with_parts(item, tensors) for item in value.values))
    if isinstance(value, TENSORS):
        return type(value)(*(next(tensors) for _ in vars(value)))
    return Rows(next(tensors)) if parts(value) else value
