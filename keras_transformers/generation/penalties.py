"""What changes logits (B, V) before a token is chosen from them: bans, biases and penalties, one knob a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from keras import ops

from keras_transformers.generation.request import Request
from keras_transformers.generation.state import State
from keras_transformers.layers.gather import take_at
from keras_transformers.tensor import Tensor

if TYPE_CHECKING:
    from keras_transformers.generation.program import Forced, Program

BANNED = float("-inf")


def apply(logits: Tensor, state: State, request: Request, program: Program) -> Tensor:
    """All of them, in the order of Hugging Face `transformers`; what no row asks for costs nothing.

    Args:
        logits: float32 (B, V).
        state: Its `token_ids`, `lengths`, `num_new` and `limit` are read.
        request: Of as many rows.
        program: The `Program`: its `eos_ids` and `forced` are read.
    """
    token_ids, lengths = state.token_ids, state.lengths
    places = ops.arange(ops.shape(token_ids)[1], dtype="int32")
    seen = ops.where(places < lengths[:, None], token_ids, -1)  # (B, T)
    early = state.num_new < request.min_new_tokens  # (B,)
    changes = (
        (request.bias_ids >= 0, lambda x: add_bias(x, request.bias_ids, request.bias_values)),
        (request.repetition_penalty != 1, lambda x: penalize_repetition(x, seen, request.repetition_penalty)),
        (request.no_repeat_ngram > 0, lambda x: ban_ngrams(x, token_ids, lengths, request.no_repeat_ngram)),
        (early, lambda x: suppress(x, program.eos_ids, early)),
    )
    for rows, change in changes:
        logits = _where_any(rows, change, logits)
    return force(logits, program.forced, state)


def force(logits: Tensor, forced: Forced, state: State) -> Tensor:
    """Leave no choice where there is none.

    Args:
        logits: float32 (B, V).
        forced: The `program.Forced`.
        state: Its `lengths` and `limit` are read.
    """
    if forced.never:
        logits = logits + ops.where(_are(forced.never, logits), BANNED, 0.0)
    if forced.first is not None:
        logits = _only(logits, forced.first, state.lengths == 1)
    if forced.last is not None:
        logits = _only(logits, forced.last, state.lengths == state.limit - 1)
    return logits


def _only(logits: Tensor, token: int, rows: Tensor) -> Tensor:
    """Logits that leave one token in some rows, boolean (B,)."""
    only = ops.where(_are((token,), logits), 0.0, BANNED)
    return _where_any(rows, lambda x: ops.where(ops.expand_dims(rows, 1), only, x), logits)


def _are(token_ids: tuple[int, ...], logits: Tensor) -> Tensor:
    """Boolean (V,): which tokens are one of these."""
    return ops.any(ops.arange(logits.shape[-1], dtype="int32")[:, None] == np.array(token_ids, "int32"), axis=1)


def _where_any(condition: Tensor, change: Callable, logits: Tensor) -> Tensor:
    """The changed logits if the condition holds anywhere; nothing is computed if it does not."""
    return ops.cond(ops.any(condition), lambda: change(logits), lambda: logits)


def add_bias(logits: Tensor, token_ids: Tensor, values: Tensor) -> Tensor:
    """Add a number to the logits of some tokens; minus infinity suppresses them.

    Args:
        logits: float32 (B, V).
        token_ids: int32 (B, n); -1 for none.
        values: float32 (B, n).
    """
    return _scatter(logits, token_ids, lambda old: old + values)


def suppress(logits: Tensor, token_ids: tuple[int, ...], rows: Tensor) -> Tensor:
    """Rule out some tokens in some rows.

    Args:
        logits: float32 (B, V).
        token_ids: Which.
        rows: Boolean (B,), where.
    """
    return ops.where(ops.logical_and(rows[:, None], _are(token_ids, logits)), BANNED, logits)


def penalize_repetition(logits: Tensor, token_ids: Tensor, penalty: Tensor) -> Tensor:
    """Divide positive logits of tokens that a row has already by the penalty, multiply negative ones with it.

    Paper: Keskar et al. 2019, https://arxiv.org/abs/1909.05858.

    Args:
        logits: float32 (B, V).
        token_ids: int32 (B, S), the prompt's and the new ones; -1 for none.
        penalty: float32 (B,); 1 for none.
    """
    penalty = penalty[:, None]
    return _scatter(logits, token_ids, lambda old: ops.where(old > 0, old / penalty, old * penalty))


def ban_ngrams(logits: Tensor, token_ids: Tensor, lengths: Tensor, size: Tensor) -> Tensor:
    """Rule out tokens that would end an n-gram which the row has already.

    Paper: Paulus et al. 2017, https://arxiv.org/abs/1705.04304.

    Args:
        logits: float32 (B, V).
        token_ids: int32 (B, S).
        lengths: int32 (B,), real tokens in each row.
        size: int32 (B,), n; 0 for no ban. One that is greater than the row's length bans nothing.
    """
    places = ops.expand_dims(ops.arange(ops.shape(token_ids)[1], dtype="int32"), 0)
    lengths, size = lengths[:, None], size[:, None]

    def compare(back, same):
        """Mark the places where the token `back` before equals the row's own token `back` before its end."""
        before = ops.take(token_ids, ops.maximum(places[0] - back, 0), axis=1)
        last = take_at(token_ids, ops.maximum(lengths - back, 0))
        fits = ops.logical_and(before == last, places >= back)
        return back + 1, ops.logical_and(same, ops.logical_or(fits, back >= size))

    def undecided(back, same):
        return ops.any(ops.logical_and(same, back < size))

    same = ops.logical_and(places < lengths, ops.logical_and(size > 0, size <= lengths))
    same = ops.while_loop(undecided, compare, (ops.ones((), "int32"), same))[1]
    return _scatter(logits, ops.where(same, token_ids, -1), lambda old: ops.full_like(old, BANNED))


def _scatter(logits: Tensor, token_ids: Tensor, change: Callable) -> Tensor:
    """Change the logits at the token ids (B, n); at -1 nothing changes, and a repeated token changes once."""
    rows, columns = ops.shape(token_ids)[0], ops.shape(token_ids)[1]
    spare = ops.pad(logits, ((0, 0), (0, 1)))  # a last column for those that are none
    places = ops.where(token_ids < 0, logits.shape[-1], token_ids)
    new = change(take_at(spare, places))
    row = ops.broadcast_to(ops.expand_dims(ops.arange(rows, dtype="int32"), 1), (rows, columns))
    indices = ops.reshape(ops.stack([row, ops.cast(places, "int32")], axis=-1), (-1, 2))
    return ops.scatter_update(spare, indices, ops.reshape(new, (-1,)))[:, :-1]
