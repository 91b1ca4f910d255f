"""Statements of a chat template: output, assignment, conditions and macros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import nodes

from keras_transformers.text.chat import graph_operators
from keras_transformers.text.chat.graph_expressions import Expressions, Function, make_range
from keras_transformers.text.chat.graph_operators import Facts, items_of
from keras_transformers.text.chat.graph_paths import MISSING
from keras_transformers.text.chat.graph_values import Condition, Known, NotCompiledError, Value, options

MOST_CALLS = 20  # of macros within each other


class Statements(Expressions):
    """Run statements on the current path."""

    jump: Any = None  # the key of the current loop's jumps: which conversations have left this turn

    def run(self, statements: list[nodes.Node]) -> None:
        """Run statements in turn, each for the conversations that no `continue` or `break` has taken out."""
        for place, node in enumerate(statements):
            try:
                method = getattr(self, f"_run_{type(node).__name__.lower()}", None)
                if method is None:
                    raise NotCompiledError(f"statement {type(node).__name__!r}")
                method(node)
            except NotCompiledError as error:
                error.line = error.line or node.lineno
                raise
            rest = statements[place + 1 :]
            if self.jump is not None and rest and (left := self.left()) is not False:
                self.branch(left, lambda: None, lambda: self.run(rest))  # noqa: B023
                return

    def left(self) -> Condition:
        """Tell which conversations have left the current turn of the loop."""
        raise NotImplementedError

    def _run_output(self, node: nodes.Output) -> None:
        part: Any
        for part in node.nodes:
            while isinstance(part, nodes.Filter) and part.name == "safe":  # nothing is escaped, so it changes nothing
                part = part.node
            self.add(graph_operators.text(self, self.evaluate(part)))

    def _run_if(self, node: nodes.If) -> None:
        self._choose([(node.test, node.body), *((part.test, part.body) for part in node.elif_)], node.else_)

    def _choose(self, tests: list[tuple[nodes.Node, list[nodes.Node]]], otherwise: list[nodes.Node]) -> None:
        if not tests:
            return self.run(otherwise)
        (test, body), *rest = tests
        return self.branch(self.test(test), lambda: self.run(body), lambda: self._choose(rest, otherwise))

    def _run_assign(self, node: nodes.Assign) -> None:
        self.assign(node.target, self.evaluate(node.node))

    def _run_assignblock(self, node: nodes.AssignBlock) -> None:
        with self.inner_scope():
            value = self.capture(lambda: self.run(node.body))
        if node.filter is not None:
            value = self._filter_of_block(value, node.filter)
        self.assign(node.target, value)

    def _filter_of_block(self, value: Value, node: Any) -> Value:
        """Apply the filters of a block, the innermost of which has no value."""
        if node.node is not None:
            value = self._filter_of_block(value, node.node)
        return self.filtered(value, node)

    def _run_filterblock(self, node: nodes.FilterBlock) -> None:
        with self.inner_scope():
            value = self.capture(lambda: self.run(node.body))
        self.add(graph_operators.text(self, self._filter_of_block(value, node.filter)))

    def assign(self, target: nodes.Node, value: Value) -> None:
        """Set a variable, an attribute of a namespace, or several variables."""
        if isinstance(target, nodes.Name):
            self.write(target.name, value)
        elif isinstance(target, nodes.NSRef):
            self._assign_attribute(target, value)
        else:
            values = items_of(value)
            if not isinstance(target, nodes.Tuple) or values is None or len(values) != len(target.items):
                raise NotCompiledError("assignment to several names")
            for one, part in zip(target.items, values, strict=True):
                self.assign(one, part)

    def _assign_attribute(self, target: nodes.NSRef, value: Value) -> None:
        space = self.read(target.name)
        for mask, option in options(space):
            if not isinstance(option, Known) or not isinstance(option.value, Namespace):
                self.branch(mask, lambda: self.fail("cannot assign attribute on non-namespace object"), lambda: None)
            else:
                self.branch(mask, lambda: option.value.set(self, target.attr, value), lambda: None)  # noqa: B023

    def _run_exprstmt(self, node: nodes.ExprStmt) -> None:
        self.evaluate(node.node)

    def _run_scope(self, node: nodes.Scope) -> None:
        with self.inner_scope():
            self.run(node.body)

    def _run_with(self, node: nodes.With) -> None:
        values = list(map(self.evaluate, node.values))
        with self.inner_scope():
            for target, value in zip(node.targets, values, strict=True):
                self.assign(target, value)
            self.run(node.body)

    def _run_macro(self, node: nodes.Macro) -> None:
        scope = self.scope

        def call(args: list[Value], kwargs: dict[str, Value]) -> Value:
            if self.depth >= MOST_CALLS:
                raise NotCompiledError(f"macro {node.name!r}, which calls itself,")
            self.depth += 1
            outer, self.jump = self.jump, None
            try:
                with self.inner_scope(scope):
                    self._bind(node, args, kwargs)
                    return self.capture(lambda: self.run(node.body))
            finally:
                self.depth, self.jump = self.depth - 1, outer

        self.write(node.name, Known(Function(call)))

    def _bind(self, node: nodes.Macro, args: list[Value], kwargs: dict[str, Value]) -> None:
        """Set the parameters of a macro."""
        names = [argument.name for argument in node.args]
        if len(args) > len(names) or kwargs.keys() - set(names):
            self.fail(f"macro {node.name!r} takes not more than {len(names)} argument(s)")
        given = dict(zip(names, args, strict=False)) | kwargs
        defaults = dict(zip(names[len(names) - len(node.defaults) :], node.defaults, strict=True))
        for name in names:
            missing = Known(self.environment.undefined(f"parameter {name!r} was not provided", name=name))
            default = defaults.get(name)
            value = given.get(name) or (missing if default is None else self.evaluate(default))
            self.write(name, value)


class Namespace(Facts):
    """A namespace of the template: its attributes are part of the state."""

    def __init__(self, paths: Statements, values: dict[str, Value]):
        super().__init__(lambda name: self._get(paths, name))
        self.paths = paths
        for name, value in values.items():
            self.set(paths, name, value)

    def _get(self, paths: Statements, name: str) -> Value:
        value = paths.state[self, name]
        missing = Known(paths.environment.undefined(obj=self, name=name))
        return paths.each(value, lambda one: missing if one is MISSING else one)

    def set(self, paths: Statements, name: str, value: Value) -> None:
        """Set an attribute."""
        if name.startswith("_"):
            paths.fail(
                f"Chat templates cannot store underscore-prefixed attributes on a namespace, but got {name!r}. "
                "Please rename the attribute."
            )
        paths.state[self, name] = value


def functions(paths: Statements) -> dict[str, Value]:
    """Return the functions of chat templates that the compiler runs."""

    def namespace(args: list[Value], kwargs: dict[str, Value]) -> Value:
        values = {
            name: Known(one) for part in args if isinstance(part, Known) for name, one in dict(part.value).items()
        }
        return Known(Namespace(paths, values | kwargs))

    def raise_exception(args: list[Value], kwargs: dict[str, Value]) -> Value:
        return paths.fail(graph_operators.text(paths, (*args, *kwargs.values())[0]))

    def strftime_now(args: list[Value], kwargs: dict[str, Value]) -> Value:
        raise NotCompiledError("function 'strftime_now', the date of a request")

    table: dict[str, Callable[..., Any]] = {
        "namespace": namespace, "raise_exception": raise_exception, "strftime_now": strftime_now,
        "range": lambda args, kwargs: make_range(paths, args),
    }  # fmt: skip
    return {name: Known(Function(call)) for name, call in table.items()}
