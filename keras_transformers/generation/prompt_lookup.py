"""Prompt lookup: several tokens a pass, guessed from where a row's last tokens stood before, and checked by the model.

Paper: Saxena 2023, https://github.com/apoorvumang/prompt-lookup-decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from keras import ops

from keras_transformers.generation.guessing import NO_GUESS, GuessingProgram
from keras_transformers.generation.program import Method, Program
from keras_transformers.generation.request import Request
from keras_transformers.generation.state import State
from keras_transformers.layers.core.gather import take_at
from keras_transformers.utils.tensor_types import Tensor

# Measured by `benchmarks/prompt_lookup.py`: one equal token says little, and more than three say no more than three.
SHORTEST, LONGEST = 2, 3  # tokens of an n-gram that is looked up


@dataclass(frozen=True)
class LookupProgram(GuessingProgram):
    """A `GuessingProgram` whose guesses followed the same tokens before, in the row or its source."""

    def loop(
        self, goes_on: Callable, method: Method, request: Request, count: Tensor, state: State
    ) -> tuple[Tensor, State]:
        """Take turns as long as a condition holds: see `Program.loop`.

        Turns of one token and turns with guesses have separate loops: a branch in one loop would cost a small model
        a tenth of its speed in TensorFlow, as the ops of the branch that is not taken are visited, too.
        """
        source = state.read[0] if state.cache.source and self.shares_ids else None  # (B, S)

        def alternate(count, state, guesses):
            steps = ops.while_loop(lambda *x: goes_on_with(False, *x), step, (count, state, guesses))
            return ops.while_loop(lambda *x: goes_on_with(True, *x), check, steps)

        def goes_on_with(guessed, count, state, guesses):
            return ops.logical_and(goes_on(count, state), _is_worth_it(state, guesses) == guessed)

        def step(count, state, guesses):
            state = self.turn(method, state, request)
            return count + 1, state, self._guess(state, request, source)

        def check(count, state, guesses):
            state = self.check(method, state, request, guesses)
            return count + 1, state, self._guess(state, request, source)

        begin = (count, state, self._guess(state, request, source))
        return ops.while_loop(lambda count, state, _: goes_on(count, state), alternate, begin)[:2]

    def _guess(self, state: State, request: Request, source: Tensor | None) -> Tensor:
        """Guess the next tokens of each row, from the row and from sources (B, S): int32 (B, n)."""
        token_ids, lengths, before = state.token_ids, state.lengths, 0
        if source is not None:
            token_ids, before = ops.concatenate([source, token_ids], axis=1), ops.shape(source)[1]
        # A row that must not repeat n-grams repeats nothing of itself.
        until = before + ops.where(request.no_repeat_ngram > 0, 0, lengths)  # (B,)
        guesses = guess(token_ids, before + lengths, lengths, until, self.guesses)
        may_guess = ops.logical_and(ops.logical_not(state.finished), state.limit - lengths > 1)
        return ops.where(ops.expand_dims(may_guess, 1), guesses, NO_GUESS)


def with_lookup(program: Program, guesses: int) -> LookupProgram:
    """Return a program with prompt lookup.

    Args:
        program: The program without.
        guesses: As in `GuessingProgram`.
    """
    fields = vars(program)
    if program.cache_increment is not None:
        fields = fields | {"cache_increment": program.cache_increment + guesses}
    return LookupProgram(**fields, guesses=guesses)


def _is_worth_it(state: State, guesses: Tensor) -> Tensor:
    """Return whether to check the guesses (B, n): a boolean scalar.

    A pass with guesses takes up to twice the time of one without, for which rows without guesses would wait.
    """
    with_guess, going = (ops.cast(x, "int32") for x in (guesses[:, 0] != NO_GUESS, ops.logical_not(state.finished)))
    return ops.logical_and(ops.any(with_guess), ops.sum(2 * with_guess - going) >= 0)


def guess(token_ids: Tensor, ends: Tensor, lengths: Tensor, until: Tensor, number: int) -> Tensor:
    """Guess the next tokens of each row: those that followed its last tokens before.

    The longest n-gram counts, of `SHORTEST` to `LONGEST` tokens; of equally long ones the latest. A guess that comes to
    the end of the row is continued with its first token again, as a row that repeats itself does.

    Args:
        token_ids: int32 (B, L).
        ends: int32 (B,), where each row ends.
        lengths: int32 (B,), how many of the tokens before `ends` an n-gram may be of.
        until: int32 (B,), guesses begin before there; at most `ends`.
        number: n, of the guesses.

    Returns:
        int32 (B, n), `NO_GUESS` where the last tokens stand nowhere else.

    Example:

    >>> row, length = np.array([[7, 8, 9, 5, 7, 8, 0]], "int32"), np.array([6], "int32")
    >>> guess(row, length, length, length, 5).numpy().tolist()
    [[9, 5, 7, 8, 9]]
    """
    size = ops.shape(token_ids)[1]
    ends, lengths, until = (ops.expand_dims(x, 1) for x in (ends, lengths, until))  # (B, 1)
    places = ops.arange(size, dtype="int32")  # (L,)
    padded = ops.pad(token_ids, [(0, 0), (LONGEST, 0)], constant_values=NO_GUESS)  # (B, LONGEST + L)
    last = take_at(padded, ends + np.arange(LONGEST, dtype="int32"))  # (B, LONGEST), the last tokens of the row

    # Of each place, whether the tokens before it are the last ones: of one more token each time, the nearest first.
    is_equal, best = places < until, NO_GUESS  # (B, L)
    for length in range(1, LONGEST + 1):
        begin = LONGEST - length
        token_before = padded[:, begin : begin + size]  # (B, L)
        is_same = ops.logical_and(token_before == last[:, begin : begin + 1], lengths >= length)  # (B, L)
        is_equal = ops.logical_and(is_equal, is_same)
        if length >= SHORTEST:
            best = ops.where(is_equal, length * size + places, best)  # (B, L), longer ones are larger

    best = ops.max(best, axis=1, keepdims=True)  # (B, 1)
    first = ops.mod(ops.maximum(best, 0), size)  # (B, 1)
    period = ops.maximum(ends - first, 1)
    index = first + ops.mod(ops.arange(number, dtype="int32"), period)  # (B, n)
    return ops.where(best >= 0, take_at(token_ids, index), NO_GUESS)
