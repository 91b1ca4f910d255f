"""Logits processors: bans, biases and penalties on logits (B, V), with sampling parameters for each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from keras import ops

from keras_transformers.generation.request import Request
from keras_transformers.generation.state import State
from keras_transformers.layers.core.gather import take_at
from keras_transformers.utils.tensor_types import Tensor

if TYPE_CHECKING:
    from keras_transformers.generation.prescribed import Prescribed
    from keras_transformers.generation.program import Program

BANNED = float("-inf")
ALLOWED = -1e30  # the least logit of a token that continues a choice: bans leave it possible


def apply(logits: Tensor, state: State, request: Request, program: Program) -> Tensor:
    """Apply all logits processors, in the order of `transformers`; those that no row asks for cost nothing.

    Args:
        logits: float32 (B, V).
        state: State, of which `token_ids`, `lengths`, `num_new`, `limit` and `read` are read.
        request: Request with the same number of rows.
        program: The `Program`: its `eos_ids` and `prescribed` are read.
    """
    token_ids, lengths = state.token_ids, state.lengths
    prescribed, seen = program.prescribed, _mark_padding(token_ids, lengths)  # (B, T)
    early = state.num_new < request.min_new_tokens  # (B,)
    logits = _where_any(request.bias_ids >= 0, lambda x: add_bias(x, request.bias_ids, request.bias_values), logits)
    logits = bias_sequences(logits, token_ids, lengths, prescribed.biases)
    logits = follow_source(logits, prescribed, state)
    changes = (
        (request.repetition_penalty != 1, lambda x: penalize_repetition(x, seen, request.repetition_penalty)),
        (request.no_repeat_ngram > 0, lambda x: ban_ngrams(x, token_ids, lengths, request.no_repeat_ngram)),
        (early, lambda x: suppress(x, program.eos_ids, early)),
    )
    for rows, change in changes:
        logits = _where_any(rows, change, logits)
    if prescribed.decay is not None:
        logits = favour_end(logits, program.eos_ids, state.num_new, *prescribed.decay)
    logits = limit_to_choices(force(logits, prescribed, state), request.choices, state, program.eos_ids)
    return keep_allowed(logits, request.allowed)


def limit_to_choices(logits: Tensor, choices: Tensor, state: State, eos_ids: tuple[int, ...]) -> Tensor:
    """Leave only the tokens that continue a choice of the row, or the end token behind a whole one.

    Args:
        logits: float32 (B, V).
        choices: int32 (B, n, L), as in `Request`; n = 0 limits nothing.
        state: State, of which `token_ids`, `lengths` and `num_new` are read.
        eos_ids: Ids of the end tokens; the first one gets the probability of all.
    """
    if choices.shape[1] == 0 or not eos_ids:
        return logits

    def limited(logits):
        token = _next_of_choices(choices, state)  # (B, n)
        is_possible = token > -2  # (B, n)
        token = ops.where(token == -1, eos_ids[0], token)
        if len(eos_ids) > 1:
            ends = ops.logsumexp(ops.take(logits, np.array(eos_ids, "int32"), axis=1), axis=1, keepdims=True)
            logits = ops.where(_is_one_of(eos_ids[:1], logits), ends, logits)
        marks = _scatter(ops.zeros_like(logits), ops.where(is_possible, token, -1), ops.ones_like)
        only = ops.where(marks > 0, ops.maximum(logits, ALLOWED), BANNED)
        return ops.where(ops.any(is_possible, axis=1, keepdims=True), only, logits)  # a row that has ended is any

    return _where_any(ops.shape(choices)[1] > 0, limited, logits)


def keep_allowed(logits: Tensor, allowed: Tensor) -> Tensor:
    """Leave only some tokens, also where something else has banned them.

    Args:
        logits: float32 (B, V).
        allowed: Boolean (B, V); (B, 0) for all.
    """
    if allowed.shape[1] == 0:
        return logits
    return _where_any(ops.shape(allowed)[1] > 0, lambda x: ops.where(allowed, ops.maximum(x, ALLOWED), BANNED), logits)


def _next_of_choices(choices: Tensor, state: State) -> Tensor:
    """Return the token after what is written of each choice, int32 (B, n): -1 behind its end, -2 if it is another."""
    length = ops.shape(choices)[2]
    places, num_new = ops.arange(length + 1, dtype="int32"), ops.expand_dims(state.num_new, 1)  # (L + 1,), (B, 1)
    begin, last = ops.expand_dims(state.lengths, 1) - num_new, ops.shape(state.token_ids)[1] - 1
    written = take_at(state.token_ids, ops.minimum(begin + places, last))  # (B, L + 1)

    choices = ops.pad(choices, [(0, 0), (0, 0), (0, 1)], constant_values=-1)  # (B, n, L + 1)
    is_same = ops.logical_or(choices == ops.expand_dims(written, 1), ops.expand_dims(places >= num_new, 1))
    is_possible = ops.logical_and(ops.all(is_same, axis=2), choices[:, :, 0] >= 0)  # (B, n)
    is_next = ops.expand_dims(places == num_new, 1)  # (B, 1, L + 1)
    return ops.where(is_possible, ops.sum(ops.where(is_next, choices, 0), axis=2), -2)


def follow_source(logits: Tensor, prescribed: Prescribed, state: State) -> Tensor:
    """Favour or penalize the tokens that a row has read, its source or prompt, and ban their n-grams."""
    if prescribed.read_repetition != 1:
        size = logits.shape[-1]
        read = _mark_padding(*state.read)  # (B, S)
        read = ops.where(read < size, read, -1)  # an encoder may have a larger vocabulary
        logits = penalize_repetition(logits, read, np.array([1 / prescribed.read_repetition], "float32"))
    if prescribed.read_ngram:
        size = np.array([prescribed.read_ngram], "int32")
        logits = ban_ngrams(logits, state.token_ids, state.lengths, size, state.read)
    return logits


def force(logits: Tensor, prescribed: Prescribed, state: State) -> Tensor:
    """Force tokens and rule out tokens as the checkpoint prescribes.

    Args:
        logits: float32 (B, V).
        prescribed: As in `Program`.
        state: State, of which `lengths`, `num_new` and `limit` are read.
    """
    if prescribed.finite:
        largest = float(np.finfo("float32").max)
        logits = ops.clip(ops.where(ops.isnan(logits), 0.0, logits), -largest, largest)
    if prescribed.never:
        logits = logits + ops.where(_is_one_of(prescribed.never, logits), BANNED, 0.0)
    if prescribed.never_first:
        last_forced = max((place for place, _ in prescribed.forced), default=0)
        prompt = state.lengths - state.num_new
        is_first = state.lengths == ops.maximum(prompt, last_forced + 1)  # after the forced tokens
        logits = suppress(logits, prescribed.never_first, is_first)
    for place, token in prescribed.forced:
        logits = _allow_only(logits, token, state.lengths == place)
    if prescribed.last is not None:
        logits = _allow_only(logits, prescribed.last, state.lengths == state.limit - 1)
    return logits


def _allow_only(logits: Tensor, token: int, rows: Tensor) -> Tensor:
    """Return logits that leave one token in some rows, boolean (B,)."""
    only = ops.where(_is_one_of((token,), logits), 0.0, BANNED)
    return _where_any(rows, lambda x: ops.where(ops.expand_dims(rows, 1), only, x), logits)


def _is_one_of(token_ids: tuple[int, ...], logits: Tensor) -> Tensor:
    """Return which tokens are among these, boolean (V,)."""
    return ops.any(ops.arange(logits.shape[-1], dtype="int32")[:, None] == np.array(token_ids, "int32"), axis=1)


def _where_any(condition: Tensor, change: Callable, logits: Tensor) -> Tensor:
    """Return the changed logits if the condition holds anywhere; nothing is computed if it does not."""
    return ops.cond(ops.any(condition), lambda: change(logits), lambda: logits)


def add_bias(logits: Tensor, token_ids: Tensor, values: Tensor) -> Tensor:
    """Add a number to the logits of some tokens; minus infinity suppresses them.

    Args:
        logits: float32 (B, V).
        token_ids: int32 (B, n); -1 for none.
        values: float32 (B, n).
    """
    return _scatter(logits, token_ids, lambda old: old + values)


def bias_sequences(logits: Tensor, token_ids: Tensor, lengths: Tensor, biases: tuple) -> Tensor:
    """Add numbers to the logits of tokens that would complete a sequence of tokens.

    Args:
        logits: float32 (B, V).
        token_ids: int32 (B, S).
        lengths: int32 (B,), real tokens in each row.
        biases: Pairs of the ids of a sequence, one at least, and the number; each sequence once.
    """
    groups: dict[
        int, list[tuple]
    ] = {}  # by length: of one length, a row can end in one sequence at most for each last token
    for ids, bias in biases:
        groups.setdefault(len(ids) - 1, []).append((ids, bias))
    for before, group in groups.items():
        sequences = np.array([ids for ids, _ in group], "int32")  # (n, before + 1)
        places = ops.expand_dims(lengths, 1) - before + np.arange(before, dtype="int32")  # (B, before)
        end = take_at(token_ids, ops.maximum(places, 0))
        is_there = ops.all(ops.expand_dims(end, 1) == sequences[:, :-1], axis=-1)  # (B, n)
        is_there = ops.logical_and(is_there, ops.expand_dims(lengths, 1) >= before)
        values = np.array([[bias for _, bias in group]], "float32")  # (1, n)
        logits = add_bias(logits, ops.where(is_there, sequences[:, -1], -1), values)
    return logits


def favour_end(logits: Tensor, eos_ids: tuple[int, ...], num_new: Tensor, start: int, base: float) -> Tensor:
    """Raise the logits of end tokens, the more the longer a text is: |logit| * (base^(tokens beyond `start`) - 1).

    Args:
        logits: float32 (B, V).
        eos_ids: Ids of the end tokens.
        num_new: int32 (B,), new tokens so far.
        start: New tokens before it begins.
        base: Above 1.
    """
    beyond = ops.cast(ops.maximum(num_new - start, 0), "float32")[:, None]  # (B, 1)
    raised = logits + ops.abs(logits) * (ops.power(base, beyond) - 1.0)
    return ops.where(ops.logical_and(_is_one_of(eos_ids, logits), ops.isfinite(logits)), raised, logits)


def suppress(logits: Tensor, token_ids: tuple[int, ...], rows: Tensor) -> Tensor:
    """Rule out some tokens in some rows.

    Args:
        logits: float32 (B, V).
        token_ids: The tokens.
        rows: Boolean (B,), the rows.
    """
    return ops.where(ops.logical_and(rows[:, None], _is_one_of(token_ids, logits)), BANNED, logits)


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


def ban_ngrams(
    logits: Tensor, token_ids: Tensor, lengths: Tensor, size: Tensor, read: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Rule out tokens that would complete an n-gram that is in the row already, or in the text that it has read.

    Paper: Paulus et al. 2017, https://arxiv.org/abs/1705.04304.

    Args:
        logits: float32 (B, V).
        token_ids: int32 (B, S).
        lengths: int32 (B,), real tokens in each row.
        size: int32 (B,), n; 0 for no ban. One that is greater than the row's length bans nothing.
        read: The text that was read, int32 (B, R), and its lengths (B,); the row itself when None.
    """
    found, found_lengths = (token_ids, lengths) if read is None else read
    places = ops.expand_dims(ops.arange(ops.shape(found)[1], dtype="int32"), 0)
    lengths, size = lengths[:, None], size[:, None]

    def compare(back, same):
        """Mark the places where the token `back` before equals the row's own token `back` before its end."""
        before = ops.take(found, ops.maximum(places[0] - back, 0), axis=1)
        last = take_at(token_ids, ops.maximum(lengths - back, 0))
        fits = ops.logical_and(before == last, places >= back)
        return back + 1, ops.logical_and(same, ops.logical_or(fits, back >= size))

    def undecided(back, same):
        return ops.any(ops.logical_and(same, back < size))

    same = ops.logical_and(places < found_lengths[:, None], ops.logical_and(size > 0, size <= lengths + 1))
    same = ops.while_loop(undecided, compare, (ops.ones((), "int32"), same))[1]
    same = ops.logical_and(same, found < logits.shape[-1])  # an encoder may have a larger vocabulary
    return _scatter(logits, ops.where(same, found, -1), lambda old: ops.full_like(old, BANNED))


def _mark_padding(token_ids: Tensor, lengths: Tensor) -> Tensor:
    """Return token ids (B, S) with -1 after the end of each row."""
    places = ops.arange(ops.shape(token_ids)[1], dtype="int32")
    return ops.where(places < lengths[:, None], token_ids, -1)


def _scatter(logits: Tensor, token_ids: Tensor, change: Callable) -> Tensor:
    """Change the logits at the token ids (B, n); at -1 nothing changes, and a repeated token changes once."""
    rows, columns = ops.shape(token_ids)[0], ops.shape(token_ids)[1]
    spare = ops.pad(logits, ((0, 0), (0, 1)))  # a last column, for ids of -1
    places = ops.where(token_ids < 0, logits.shape[-1], token_ids)
    new = change(take_at(spare, places))
    row = ops.broadcast_to(ops.expand_dims(ops.arange(rows, dtype="int32"), 1), (rows, columns))
    indices = ops.reshape(ops.stack([row, ops.cast(places, "int32")], axis=-1), (-1, 2))
    return ops.scatter_update(spare, indices, ops.reshape(new, (-1,)))[:, :-1]
