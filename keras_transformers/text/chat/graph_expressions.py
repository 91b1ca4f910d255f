"""Expressions of a chat template: from Jinja's syntax tree to values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from jinja2 import nodes
from jinja2.sandbox import safe_range

from keras_transformers.text.chat import graph_filters, graph_operators
from keras_transformers.text.chat.graph_filters import Arguments
from keras_transformers.text.chat.graph_operators import Facts
from keras_transformers.text.chat.graph_paths import Paths, is_known, python
from keras_transformers.text.chat.graph_values import (
    Choice,
    Items,
    Known,
    Message,
    NotCompiledError,
    Range,
    Value,
    kind,
    negate,
    tensor,
    to_value,
    truth,
)

MOST_STEPS = 50_000  # expressions evaluated and turns of loops, so that no template keeps the compiler busy for ever
BINARY = ("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow")


class Function:
    """A function that the compiler itself runs.

    Args:
        call: Function of the values of positional and of keyword arguments.
    """

    def __init__(self, call: Callable[[list[Value], dict[str, Value]], Value]):
        self.call = call


class Expressions(Paths):
    """Evaluate expressions on the current path."""

    steps = 0
    rows: tf.Tensor  # (B,), as many as conversations

    def evaluate(self, node: Any) -> Value:
        """Return the value of an expression."""
        name = type(node).__name__
        try:
            self.count_step()
            if name in BINARY:
                return graph_operators.operate(self, name, self.evaluate(node.left), self.evaluate(node.right))
            method = getattr(self, f"_{name.lower()}", None)
            if method is None:
                raise NotCompiledError(f"expression {name!r}")
            return method(node)
        except NotCompiledError as error:
            error.line = error.line or node.lineno
            raise

    def count_step(self) -> None:
        """Count an expression or a turn of a loop, and raise if there are too many."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NotCompiledError(f"more than {MOST_STEPS} steps,")

    def test(self, node: nodes.Node) -> Any:
        """Return the condition that an expression states."""
        return truth(self.evaluate(node))

    def _const(self, node: nodes.Const) -> Value:
        return Known(node.value)

    def _templatedata(self, node: nodes.TemplateData) -> Value:
        return Known(node.data)

    def _name(self, node: nodes.Name) -> Value:
        return self.read(node.name)

    def _list(self, node: nodes.List | nodes.Tuple) -> Value:
        values = Items(tuple(map(self.evaluate, node.items)))
        return Known(python(values)) if is_known(values) else graph_operators.messages_of(values) or values

    def _tuple(self, node: nodes.Tuple) -> Value:
        values = self._list(node)
        return Known(tuple(values.value)) if isinstance(values, Known) else values

    def _dict(self, node: nodes.Dict) -> Value:
        pairs = [(self.evaluate(pair.key), self.evaluate(pair.value)) for pair in node.items]
        if all(is_known(value) for pair in pairs for value in pair):
            return Known({python(key): python(value) for key, value in pairs})
        names = [str(key.value if isinstance(key, Known) else None) for key, _ in pairs]
        if sorted(names) != ["content", "role"] or any(kind(value) != "string" for _, value in pairs):
            raise NotCompiledError("dictionary of values that differ by conversation, other than a role and a content,")
        return Message(**{name: self.for_each_row(value) for name, (_, value) in zip(names, pairs, strict=True)})

    def for_each_row(self, value: Value) -> tf.Tensor:
        """Return a value as a tensor (B,)."""
        found = tensor(value)
        return found if found.shape.rank else tf.fill(tf.shape(self.rows), found)

    def _concat(self, node: nodes.Concat) -> Value:
        return graph_operators.concatenate(self, list(map(self.evaluate, node.nodes)))

    def _compare(self, node: nodes.Compare) -> Value:
        return self._chain(self.evaluate(node.expr), node.ops)

    def _chain(self, left: Value, operands: list[nodes.Operand]) -> Value:
        right = self.evaluate(operands[0].expr)
        found = graph_operators.operate(self, operands[0].op, left, right)
        if len(operands) == 1:
            return found
        return self.branch(truth(found), lambda: self._chain(right, operands[1:]), lambda: found)

    def _and(self, node: nodes.And) -> Value:
        left = self.evaluate(node.left)
        return self.branch(truth(left), lambda: self.evaluate(node.right), lambda: left)

    def _or(self, node: nodes.Or) -> Value:
        left = self.evaluate(node.left)
        return self.branch(truth(left), lambda: left, lambda: self.evaluate(node.right))

    def _not(self, node: nodes.Not) -> Value:
        return to_value(negate(self.test(node.node)))

    def _neg(self, node: nodes.Neg) -> Value:
        value = self.evaluate(node.node)
        if is_known(value):
            return self.all_known([value], lambda number: -number)
        return graph_operators.operate(self, "Sub", Known(0), value)

    def _pos(self, node: nodes.Pos) -> Value:
        return self.evaluate(node.node)

    def _condexpr(self, node: nodes.CondExpr) -> Value:
        return self.branch(
            self.test(node.test),
            lambda: self.evaluate(node.expr1),
            lambda: self._nothing(node) if node.expr2 is None else self.evaluate(node.expr2),
        )

    def _nothing(self, node: nodes.CondExpr) -> Value:
        words = f"the inline if-expression on line {node.lineno} evaluated to false and no else section was defined."
        return Known(self.environment.undefined(words))

    def _getattr(self, node: nodes.Getattr) -> Value:
        return graph_operators.attribute(self, self.evaluate(node.node), node.attr)

    def _getitem(self, node: nodes.Getitem) -> Value:
        target = self.evaluate(node.node)
        if isinstance(node.arg, nodes.Slice):
            bounds = [node.arg.start, node.arg.stop, node.arg.step]
            values = [Known(None) if bound is None else self.evaluate(bound) for bound in bounds]
            return graph_operators.cut(self, target, values)
        return graph_operators.item(self, target, self.evaluate(node.arg))

    def arguments(self, node: Any) -> Arguments:
        """Return the values of the arguments of a call, a filter or a test."""
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise NotCompiledError("arguments with asterisks")
        return list(map(self.evaluate, node.args)), {pair.key: self.evaluate(pair.value) for pair in node.kwargs}

    def _filter(self, node: nodes.Filter) -> Value:
        return self.filtered(self.evaluate(node.node), node)

    def filtered(self, value: Value, node: nodes.Filter) -> Value:
        """Apply the filter of a node to a value."""
        return graph_filters.apply_filter(self, node.name, value, self.arguments(node))

    def _test(self, node: nodes.Test) -> Value:
        value = self.evaluate(node.node)
        return graph_filters.apply_test(self, node.name, value, self.arguments(node))

    def _call(self, node: nodes.Call) -> Value:
        called = node.node
        if not isinstance(called, nodes.Getattr):
            function = self.evaluate(called)
            arguments = self.arguments(node)
            return self.each(function, lambda one: self._call_value(one, arguments))
        target = self.evaluate(called.node)
        arguments = self.arguments(node)
        return self.each(target, lambda one: self._call_method(one, called.attr, arguments))

    def _call_method(self, target: Value, name: str, arguments: Arguments) -> Value:
        args, kwargs = arguments
        if isinstance(target, Known) and isinstance(target.value, Facts):
            return self._call_value(graph_operators.attribute(self, target, name), arguments)
        if is_known(target) and all(map(is_known, [*args, *kwargs.values()])):
            return self._call_value(graph_operators.attribute(self, target, name), arguments)
        return self._each_argument(args, lambda values: graph_filters.call_method(self, target, name, (values, kwargs)))

    def _each_argument(self, args: list[Value], function: Callable[[list[Value]], Value]) -> Value:
        """Call a function for each kind of value that an argument has."""
        for place, value in enumerate(args):
            if isinstance(value, Choice):
                before, after = args[:place], args[place + 1 :]
                return self.each(value, lambda one: self._each_argument([*before, one, *after], function))  # noqa: B023
        return function(args)

    def _call_value(self, function: Value, arguments: Arguments) -> Value:
        args, kwargs = arguments
        called = function.value if isinstance(function, Known) else None
        if isinstance(called, Function):
            return called.call(args, kwargs)
        if isinstance(function, Known) and all(map(is_known, [*args, *kwargs.values()])):
            names = list(kwargs)
            return self.all_known(
                [function, *args, *kwargs.values()],
                lambda one, *rest: self.environment.call(
                    self.context, one, *rest[: len(args)], **dict(zip(names, rest[len(args) :], strict=True))
                ),
            )
        return graph_operators.mismatch(self, lambda one: one(), [function], "call of a function")


def make_range(paths: Paths, args: list[Value]) -> Value:
    """Return `range(...)`."""
    if all(map(is_known, args)):
        return paths.all_known(args, lambda *known: list(safe_range(*known)))
    start, stop, step = (
        (Known(0), args[0], Known(1)) if len(args) == 1 else (*args[:2], args[2] if args[2:] else Known(1))
    )
    if any(kind(value) != "int32" for value in (start, stop)) or not is_known(step) or not python(step):
        raise NotCompiledError("range of these values")
    size = tensor(stop) - tensor(start)
    count = tf.maximum(-(-size // python(step)), 0)
    first = tensor(start) + tf.zeros_like(count)
    return Range(first, tf.fill(tf.shape(count), python(step)), count)
