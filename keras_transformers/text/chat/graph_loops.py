"""Loops of a chat template: over the messages of each conversation by tf.while_loop, over known lists turn by turn."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import tensorflow as tf
from jinja2 import nodes

from keras_transformers.text.chat.graph_expressions import Function
from keras_transformers.text.chat.graph_operators import Facts, items_of, look_up, mismatch, operate
from keras_transformers.text.chat.graph_paths import PathEndsError, State, python
from keras_transformers.text.chat.graph_statements import Statements
from keras_transformers.text.chat.graph_strings import characters
from keras_transformers.text.chat.graph_values import (
    SEQUENCES,
    Choice,
    Condition,
    Known,
    NotCompiledError,
    Rows,
    Value,
    both,
    is_same,
    kind,
    merge,
    negate,
    options,
    parts,
    truth,
    with_parts,
)

Layout = dict[Hashable, dict[Hashable, Value]]  # the kinds of the values that a loop carries, an example of each


MOST_LAYOUTS = 12  # more are a list that grows in the loop


class _WiderError(Exception):
    """Tell that a turn of a loop changes values in a way that the loop does not carry yet."""

    def __init__(self, layout: Layout):
        super().__init__()
        self.layout = layout


class Loops(Statements):
    """Run loops on the current path."""

    def left(self) -> Condition:
        return truth(self.state[self.jump])

    def _run_for(self, node: nodes.For) -> None:
        if node.recursive:
            raise NotCompiledError("recursive loop")
        self.each(self.evaluate(node.iter), lambda sequence: self._loop(node, sequence))

    def _loop(self, node: nodes.For, sequence: Value) -> None:
        if isinstance(sequence, Rows) and kind(sequence) == "string":
            sequence = characters(sequence.tensor)
        loop = object()  # marks the state of this loop: the turns that are counted, who has left it, its text
        before, outer, jump = dict(self.state), self.scope, self.jump
        self.state |= {(loop, name): Known(False) for name in ("left", "ran")}
        self.state |= {(loop, "turns"): Known(0), (loop, "text"): Known("")}
        try:
            if isinstance(sequence, SEQUENCES):
                self._over_rows(node, sequence, loop)
            else:
                self._over_items(node, self._known_items(sequence), loop)
        finally:
            self.scope, self.jump = outer, jump
        self.add(self.state[loop, "text"])
        ran = self.state[loop, "ran"]
        self.state = {key: self.state[key] for key in self.state if key in before or key[0] is not loop}  # type: ignore[index]
        if node.else_:
            self.branch(truth(ran), lambda: None, lambda: self.run(node.else_))

    def _known_items(self, sequence: Value) -> tuple[Value, ...]:
        values = items_of(sequence)
        if values is None and isinstance(sequence, Known):
            values = items_of(self.all_known([sequence], list))
        return mismatch(self, iter, [sequence], "loop over this value") if values is None else values

    def _over_items(self, node: nodes.For, values: tuple[Value, ...], loop: Hashable) -> None:
        for place, value in enumerate(values):
            self.count_step()
            facts = {
                "last": lambda place=place: Known(place == len(values) - 1),
                "length": lambda: Known(len(values)),
                "revindex": lambda place=place: Known(len(values) - place),
                "revindex0": lambda place=place: Known(len(values) - place - 1),
                "previtem": lambda place=place: self._neighbour(values, place - 1, "previous"),
                "nextitem": lambda place=place: self._neighbour(values, place + 1, "next"),
            }
            self._turn(node, True, value, facts, loop)

    def _neighbour(self, values: tuple[Value, ...], place: int, word: str) -> Value:
        inside = 0 <= place < len(values)
        return values[place] if inside else Known(self.environment.undefined(f"there is no {word} item"))

    def _over_rows(self, node: nodes.For, sequence: Any, loop: Hashable) -> None:
        """Run a loop whose number of turns differs by conversation."""
        layout: Layout = {}
        for _ in range(MOST_LAYOUTS):
            before, texts = dict(self.state), self.texts
            try:
                return self._while(node, sequence, loop, layout)
            except _WiderError as wider:
                layout, self.state, self.texts = wider.layout, before, texts
        raise NotCompiledError("loop that makes values of ever new kinds")

    def _while(self, node: nodes.For, sequence: Any, loop: Hashable, layout: Layout) -> None:
        before, texts = dict(self.state), self.texts
        rows = tf.shape(sequence.count)
        packed = [self._pack(before[key], kinds, rows) for key, kinds in layout.items()]
        flat = [one for tensors in packed for one in tensors]
        shapes = [tf.TensorShape([None] * one.shape.rank) for one in flat]

        def turn(place, *carried):
            values = iter(carried)
            start = {**before, **{key: _unpack(kinds, values) for key, kinds in layout.items()}}
            self.state = dict(start)
            self.texts = texts
            self._turn_of_rows(node, sequence, tf.fill(rows, place), loop)
            end = {key: self.state[key] for key in start}
            _check_layout(layout, before, start, end)
            packed = [self._pack(end[key], kinds, rows) for key, kinds in layout.items()]
            return place + 1, *(one for tensors in packed for one in tensors)

        count = tf.where(both(self.taken, self.fine()), sequence.count, 0)  # others do not keep the loop busy
        most = tf.reduce_max(tf.concat([count, [0]], 0))
        _, *flat = tf.while_loop(
            lambda place, *_: place < most, turn, [tf.constant(0), *flat], [tf.TensorShape([]), *shapes]
        )
        values = iter(flat)
        self.state = {**before, **{key: _unpack(kinds, values) for key, kinds in layout.items()}}
        self.texts = texts

    def _turn_of_rows(self, node: nodes.For, sequence: Any, at: tf.Tensor, loop: Hashable) -> None:
        count = sequence.count
        facts = {
            "last": lambda: Rows(tf.equal(at, count - 1)),
            "length": lambda: Rows(count),
            "revindex": lambda: Rows(count - at),
            "revindex0": lambda: Rows(count - at - 1),
            "previtem": lambda: self._beside(sequence, at - 1, at > 0, "previous"),
            "nextitem": lambda: self._beside(sequence, at + 1, at + 1 < count, "next"),
        }
        self._turn(node, at < count, sequence.item(at), facts, loop)

    def _beside(self, sequence: Any, at: tf.Tensor, inside: tf.Tensor, word: str) -> Value:
        missing = Known(self.environment.undefined(f"there is no {word} item"))
        return merge(inside, sequence.item(at), missing)

    def _turn(self, node: nodes.For, there: Condition, value: Value, facts: dict[str, Any], loop: Hashable) -> None:
        """Run a turn of a loop for the conversations that have it."""
        there = both(there, negate(truth(self.state[loop, "left"])))
        self.branch(there, lambda: self._filtered_turn(node, value, facts, loop), lambda: None)

    def _filtered_turn(self, node: nodes.For, value: Value, facts: dict[str, Any], loop: Hashable) -> None:
        with self.inner_scope():
            self.assign(node.target, value)
            if node.test is None:
                self._body(node, facts, loop)
            else:
                self.branch(self.test(node.test), lambda: self._body(node, {}, loop), lambda: None)

    def _body(self, node: nodes.For, facts: dict[str, Any], loop: Hashable) -> None:
        index = self.state[loop, "turns"]
        self.write("loop", Known(Facts(lambda name: self._fact(name, index, facts))))
        self.jump = (loop, "jump")
        self.state[self.jump] = Known(False)
        piece = self.capture(lambda: self._run_body(node))
        self.state[loop, "text"] = operate(self, "Add", self.state[loop, "text"], piece)
        self.state[loop, "turns"] = operate(self, "Add", index, Known(1))
        self.state[loop, "ran"] = merge(self.left(), self.state[loop, "ran"], Known(True))  # as Jinja counts for `else`
        del self.state[self.jump]

    def _run_body(self, node: nodes.For) -> None:
        try:
            self.run(node.body)
        except PathEndsError as end:
            if end.failed:
                raise

    def _fact(self, name: str, index: Value, facts: dict[str, Any]) -> Value:
        """Return an attribute of `loop`."""
        known = {
            "index0": lambda: index,
            "index": lambda: operate(self, "Add", index, Known(1)),
            "first": lambda: operate(self, "eq", index, Known(0)),
            "depth": lambda: Known(1),
            "depth0": lambda: Known(0),
            "cycle": lambda: Known(Function(lambda args, kwargs: self._cycle(index, args))),
        } | facts
        if name in ("changed", "last", "length", "revindex", "revindex0", "previtem", "nextitem") and name not in known:
            raise NotCompiledError(f"'loop.{name}' of this loop")
        return known[name]()

    def _cycle(self, index: Value, args: list[Value]) -> Value:
        place = operate(self, "Mod", index, Known(len(args)))
        if isinstance(place, Known):
            return args[python(place)]
        return look_up(self, dict(enumerate(args)), place, args[-1])

    def _run_continue(self, node: nodes.Node) -> None:
        self.state[self.jump] = Known(True)
        raise PathEndsError(failed=False)

    def _run_break(self, node: nodes.Break) -> None:
        self.state[self.jump[0], "left"] = Known(True)
        self._run_continue(node)

    def _pack(self, value: Value, kinds: dict[Hashable, Value], rows: tf.Tensor) -> list[tf.Tensor]:
        """Return the tensors of a value of some of these kinds: a mask and the parts of each kind."""
        found = {kind(option): (mask, option) for mask, option in options(value)}
        tensors = []
        for name, example in kinds.items():
            mask, option = found.get(name, (False, None))
            if len(kinds) > 1:
                tensors.append(tf.fill(rows, mask) if isinstance(mask, bool) else mask)
            for place, part in enumerate(parts(example)):
                given = _empty(part, rows) if option is None else parts(option)[place]
                tensors.append(given if given.shape.rank else tf.fill(rows, given))
        return tensors


def _empty(part: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Return a tensor of the dtype and rank of another one, which may belong to another graph."""
    return tf.zeros(tf.concat([rows, [1]], 0) if part.shape.rank == 2 else rows, part.dtype)


def _unpack(kinds: dict[Hashable, Value], tensors: Any) -> Value:
    is_choice = len(kinds) > 1
    found = tuple((next(tensors) if is_choice else True, with_parts(example, tensors)) for example in kinds.values())
    return Choice(found) if is_choice else found[0][1]


def _check_layout(layout: Layout, before: State, start: State, end: State) -> None:
    """Require that a loop carries all that its turn changes."""
    wider = dict(layout)
    for key, value in end.items():
        if not is_same(value, start[key]):
            examples = {kind(option): option for _, option in (*options(before[key]), *options(value))}
            missing = {name: option for name, option in examples.items() if name not in layout.get(key, {})}
            if missing:
                wider[key] = {**layout.get(key, {}), **missing}
    if wider != layout:
        raise _WiderError(wider)
