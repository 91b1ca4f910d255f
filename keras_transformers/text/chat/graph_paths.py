"""Paths through a chat template: its state, branches that some conversations take, errors of single conversations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import tensorflow as tf
from jinja2.sandbox import SandboxedEnvironment

from keras_transformers.text.chat.graph_values import (
    Choice,
    Condition,
    Items,
    Known,
    NotCompiledError,
    Rows,
    Value,
    both,
    kind,
    merge,
    negate,
    options,
    tensor,
    to_value,
)

MISSING = Known(object())  # the value of a variable that a scope does not have
ERROR = "error"  # the key of each conversation's error
State = dict[Hashable, Value]


class PathEndsError(Exception):
    """Leave a path that no conversation continues.

    Args:
        failed: Whether all of them have an error; otherwise the path left a loop's turn.
    """

    def __init__(self, failed: bool):
        super().__init__()
        self.failed = failed


@dataclass(frozen=True)
class Text:
    """A growing text: pieces that are joined when it is read."""

    pieces: tuple[Value, ...] = ()

    def join(self) -> Value:
        pieces: list[Value] = []
        for known, group in groupby(self.pieces, lambda piece: isinstance(piece, Known)):
            values = list(group)
            pieces += [Known("".join(map(python, values)))] if known else values
        if len(pieces) < 2:
            return pieces[0] if pieces else Known("")
        return Rows(tf.strings.join([tensor(piece) for piece in pieces]))


@dataclass
class Scope:
    """Variables of a part of the template; the variables of its parent are seen, too."""

    parent: Scope | None
    key: Hashable = field(default_factory=object)


class Paths:
    """Run a template once for all conversations of a batch: values where they agree, tensors where they differ.

    Args:
        environment: Jinja's environment, for all that is known in Python.
        variables: Values of the template's variables by name.
    """

    def __init__(self, environment: SandboxedEnvironment, variables: Mapping[str, Value]):
        self.environment = environment
        self.context = environment.from_string("").new_context()
        self.variables = variables
        self.scope = Scope(None)
        self.output: Hashable = "output"
        self.state: State = {ERROR: Known(None)}
        self.texts: dict[Hashable, Text] = {self.output: Text()}
        self.taken: Condition = True  # which conversations are on this path
        self.depth = 0

    def read(self, name: str) -> Value:
        """Return the value of a variable."""
        return self._read(name, self.scope)

    def _read(self, name: str, scope: Scope | None) -> Value:
        if scope is None:
            if name in self.variables:
                return self.variables[name]
            missing = self.environment.undefined(name=name)
            return Known(self.environment.globals.get(name, missing))
        value = self.state.get((scope.key, name), MISSING)
        if value is MISSING:
            return self._read(name, scope.parent)
        if not isinstance(value, Choice):
            return value
        return self.each(value, lambda one: self._read(name, scope.parent) if one is MISSING else one)

    def write(self, name: str, value: Value) -> None:
        """Set a variable of the current scope."""
        self.state[self.scope.key, name] = value

    @contextmanager
    def inner_scope(self, parent: Scope | None = None) -> Iterator[None]:
        """Open a scope, below the current one or below `parent`."""
        outer = self.scope
        self.scope = Scope(parent or outer)
        try:
            yield
        finally:
            key, self.scope = self.scope.key, outer
            self.state = {name: value for name, value in self.state.items() if name[0] is not key}  # type: ignore

    def add(self, piece: Value) -> None:
        """Append a string to the text."""
        text = self.texts[self.output]
        self.texts = {**self.texts, self.output: Text((*text.pieces, piece))}

    def capture(self, run: Callable[[], None]) -> Value:
        """Return the text that a part of the template writes, instead of writing it."""
        outer, self.output = self.output, object()
        self.texts = {**self.texts, self.output: Text()}
        try:
            run()
            return self.texts[self.output].join()
        finally:
            self.texts = {key: text for key, text in self.texts.items() if key is not self.output}
            self.output = outer

    def fail(self, message: str | Value) -> Any:
        """Give the conversations of this path an error, if they have none, and end the path."""
        message = Known(message) if isinstance(message, str) else message
        self.state[ERROR] = merge(self.fine(), message, self.state[ERROR])
        raise PathEndsError(failed=True)

    def fine(self) -> Condition:
        """Tell which conversations have no error."""
        found: Condition = False
        for mask, value in options(self.state[ERROR]):
            if kind(value) == "none":
                found = mask
        return found

    def branch(self, condition: Condition, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """Run `then` for the conversations where the condition holds, `otherwise` for the others.

        Returns:
            The merged values that the two return.
        """
        if isinstance(condition, bool):
            return then() if condition else otherwise()
        return self._join(condition, self._run(condition, then), self._run(negate(condition), otherwise))

    def _run(self, condition: Condition, run: Callable[[], Any]) -> _Branch:
        state, texts, taken = dict(self.state), self.texts, self.taken
        self.taken = both(taken, condition)
        branch = _Branch()
        try:
            branch.value = run()
        except PathEndsError as end:
            branch.ended, branch.failed = True, end.failed
        branch.state, branch.texts = self.state, self.texts
        self.state, self.texts, self.taken = state, texts, taken
        return branch

    def _join(self, condition: tf.Tensor, a: _Branch, b: _Branch) -> Any:
        error = merge(condition, a.state[ERROR], b.state[ERROR])
        if a.failed or b.failed:
            kept = b if a.failed else a
            self.state, self.texts = {**kept.state, ERROR: error}, kept.texts
        else:
            keys = [*a.state, *(key for key in b.state if key not in a.state)]
            pairs = {key: (a.state.get(key, MISSING), b.state.get(key, MISSING)) for key in keys}
            self.state = {key: merge(condition, *pair) for key, pair in pairs.items()}
            self.texts = {key: _merge_texts(condition, a.texts[key], b.texts[key]) for key in a.texts}
        if a.ended and b.ended:
            raise PathEndsError(failed=a.failed and b.failed)
        if a.ended or b.ended:
            return b.value if a.ended else a.value
        return None if a.value is None else merge(condition, a.value, b.value)

    def each(self, value: Value, function: Callable[[Any], Any]) -> Any:
        """Call a function of one kind of value for each kind that a value has."""
        (mask, first), *rest = options(value)
        if not rest:
            return function(first)
        return self.branch(mask, lambda: function(first), lambda: self.each(Choice(tuple(rest)), function))

    def all_known(self, values: list[Value], function: Callable[..., Any]) -> Value:
        """Call a Python function of known values; its error becomes the conversations'."""
        try:
            return self.to_value(function(*(python(value) for value in values)))
        except (NotCompiledError, PathEndsError):
            raise
        except Exception as error:
            return self.fail(str(error))

    def to_value(self, result: Any) -> Value:
        """Return a Python object as a value; generators are read."""
        return Known(list(result) if isinstance(result, Iterator) else result)

    def both_hold(self, condition: Condition, then: Callable[[], Condition]) -> Condition:
        """Return whether a condition and another one hold, which is computed where the first does."""
        value = self.branch(condition, lambda: to_value(then()), lambda: Known(False))
        return value.value if isinstance(value, Known) else tensor(value)


@dataclass
class _Branch:
    """The end of a branch: its state, the value of an expression, and whether the path has ended."""

    state: State = field(default_factory=dict)
    texts: dict[Hashable, Text] = field(default_factory=dict)
    value: Any = None
    ended: bool = False
    failed: bool = False


def _merge_texts(condition: tf.Tensor, a: Text, b: Text) -> Text:
    """Return a text that shares the pieces at the start of both."""
    shared = 0
    for one, other in zip(a.pieces, b.pieces, strict=False):
        if one is not other:
            break
        shared += 1
    rest = [Text(text.pieces[shared:]).join() for text in (a, b)]
    merged = merge(condition, *rest)
    empty = isinstance(merged, Known) and not merged.value
    return Text((*a.pieces[:shared], *([] if empty else [merged])))


def is_known(value: Value) -> bool:
    """Tell whether Python knows a value while it compiles."""
    return isinstance(value, Known) or (isinstance(value, Items) and all(map(is_known, value.values)))


def python(value: Value) -> Any:
    """Return the Python object of a value that is known."""
    if isinstance(value, Items):
        return [python(item) for item in value.values]
    assert isinstance(value, Known), value
    return value.value
