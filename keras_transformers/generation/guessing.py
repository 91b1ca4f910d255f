"""Guesses: the next tokens of each row, wherever they come from, checked by the model in one pass."""

from __future__ import annotations

from dataclasses import dataclass

from keras import ops

from keras_transformers.generation.program import Method, Program
from keras_transformers.generation.request import Request
from keras_transformers.generation.state import Cache, State
from keras_transformers.layers.core.gather import take_at
from keras_transformers.utils.tensor_types import Tensor

NO_GUESS = -1  # equals no token


@dataclass(frozen=True)
class GuessingProgram(Program):
    """A `Program` that reads the last token and guesses of the next ones of each row in one pass.

    The method chooses after each of them as it would without guesses, so the texts are the same: greedy ones and
    samples, with all penalties and stop strings. A row continues in the same pass while its guesses are what was
    chosen. Cache entries of wrong guesses lie after the row's end, where no token sees them; later ones replace them.
    In floating point a pass of n + 1 tokens may round in another way than n + 1 passes: two tokens whose logits differ
    by less than that may change places.

    Args:
        guesses: n, tokens that are guessed.
    """

    guesses: int = 1

    @property
    def pass_tokens(self) -> int:
        """Return the number of tokens of a row that the loop reads at a time, at most."""
        return self.guesses + 1

    def needed_places(self, state: State) -> Tensor:
        """Return the number of places in the cache that the next turn may write to."""
        return ops.minimum(ops.max(state.lengths) + self.guesses, ops.max(state.limit))

    def check(self, method: Method, state: State, request: Request, guesses: Tensor) -> State:
        """Read the last token and the guesses (B, n) of each row; append tokens while the guesses are right."""
        last = ops.expand_dims(last_token(state), 1)  # (B, 1)
        token_ids = ops.maximum(ops.concatenate([last, guesses], axis=1), 0)  # (B, n + 1)
        places = ops.expand_dims(state.lengths - 1, 1) + ops.arange(self.guesses + 1, dtype="int32")
        # The last token of a text at its limit is never read: its place takes what is beyond it.
        places = ops.maximum(ops.minimum(places, ops.expand_dims(state.limit - 1, 1)), 0)  # (B, n + 1)
        logits, cache = self.read(state, token_ids, places)  # (B, n + 1, V)
        expected = ops.pad(guesses, [(0, 0), (0, 1)], constant_values=NO_GUESS)  # (B, n + 1)

        def any_is_open(index, is_open, finished, state):
            return ops.any(is_open)

        def choose(index, is_open, finished, state):
            state = state._replace(cache=cache, finished=ops.logical_not(is_open))
            state = method(self, state, ops.take(logits, index, axis=1), request)
            finished = ops.where(is_open, state.finished, finished)
            is_right = last_token(state) == ops.take(expected, index, axis=1)
            is_open = ops.logical_and(ops.logical_not(state.finished), is_right)  # rows that were closed are finished
            return index + 1, is_open, finished, state._replace(cache=Cache([]))

        draft = state.draft
        start = (ops.zeros((), "int32"), ops.logical_not(state.finished), state.finished)
        loop = (*start, state._replace(cache=Cache([]), draft=()))
        _, _, finished, state = ops.while_loop(any_is_open, choose, loop)
        return state._replace(finished=finished, cache=cache, draft=draft)


def last_token(state: State) -> Tensor:
    """Return the last token of each row: int32 (B,)."""
    return take_at(state.token_ids, ops.expand_dims(ops.maximum(state.lengths - 1, 0), 1))[:, 0]
