"""The one loop of generation: it knows neither the model nor how a token is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_transformers.generation.spelling import TokenBytes
from keras_transformers.generation.stop import NEVER, NO_BYTE, StopStrings, empty_tail, find_stop

State = dict[str, Any]
# How rows grow, one token at a time: from the decoder, the state, logits (B, V) and the choices to the new state.
Method = Callable[["Decoder", State, Any, "Choices"], State]


class Forced(NamedTuple):
    """Token ids that leave no choice.

    Args:
        first: What follows a row's first token: the first new one beside an encoder, or behind a prompt of one token;
            None for any.
        last: What ends a text that reaches its limit; None for any.
        never: Those that are not to come.
        renormalize: Whether in beam search the probabilities of what is left to choose from add up to 1 again.
    """

    first: int | None = None
    last: int | None = None
    never: tuple[int, ...] = ()
    renormalize: bool = False


UNFORCED = Forced()


class Decoder(NamedTuple):
    """What the loop needs of a model.

    Args:
        step: From token ids (B, 1), their places (B, 1) and the cache to hidden states (B, D) and the new cache.
        project: From hidden states (B, D) to logits (B, V).
        eos_ids: Tokens that end a text.
        pad_id: What stands behind the end of a row.
        token_bytes: What each token adds to the text.
        forced: Tokens that the checkpoint prescribes, and forbids.
        growth: By how many places caches grow when they are full; None where they have room for all.
    """

    step: Callable
    project: Callable
    eos_ids: tuple[int, ...]
    pad_id: int
    token_bytes: TokenBytes
    forced: Forced = UNFORCED
    growth: int | None = None


class Choices(NamedTuple):
    """How to choose tokens.

    Args:
        knobs: Of `KNOBS`, each (B,).
        stops: Stop strings.
        bias_ids, bias_values: int32 and float32 (B, n), added to logits; -1 for no token.
        sequence: int32 (B,), which of the texts, or beams, for the same prompt a row is.
    """

    knobs: dict[str, Any]
    stops: StopStrings
    bias_ids: Any
    bias_values: Any
    sequence: Any


def start(method: Method, cache: Any, prompt: Any, lengths: Any, limit: Any, choices: Choices, last_text: Any) -> State:
    """The state before the first new token. Its loop reads the last token of the prompt once more, for its logits.

    So a token is chosen at one place in the program, which is half as large for it.

    Args:
        method: How rows grow: `sampling.sample`, or a `BeamSearch`, which has a `begin` that adds to the state.
        cache: Of the prompt: any structure of tensors, with room for all places.
        prompt: int32 (B, S), padded on the right, with room for the new tokens.
        lengths: int32 (B,), tokens of each prompt.
        limit: int32 (B,), tokens of prompt and text at most.
        choices: How to choose.
        last_text: int32 (B,), the token that the text goes on from; `spelling.NOTHING_YET`.
    """
    zeros = ops.zeros_like(lengths)
    state = {
        "token_ids": prompt,
        "lengths": lengths,
        "new": zeros,
        "limit": limit,
        "finished": lengths >= limit,
        "score": ops.cast(zeros, "float32"),
        "last_text": last_text,
        "tail": empty_tail(choices.stops),
        "num_bytes": zeros,
        "kept_bytes": zeros + NEVER,
        "cache": cache,
    }
    return method.begin(state, choices) if hasattr(method, "begin") else state


def advance(decoder: Decoder, method: Method, state: State, choices: Choices, tokens: Any) -> State:
    """The state after so many more tokens, or when all rows have ended.

    Args:
        decoder: The model.
        method: As for `start`.
        state: Of `start`, or of this function.
        choices: How to choose.
        tokens: How many at most.
    """

    def unfinished(count, state):
        return ops.logical_and(count < tokens, ops.logical_not(ops.all(state["finished"])))

    def fits(count, state):
        return ops.logical_and(unfinished(count, state), ops.max(state["lengths"]) <= _capacity(state))

    def body(count, state):
        places = ops.expand_dims(ops.maximum(state["lengths"] - 1, 0), 1)
        last = ops.take_along_axis(state["token_ids"], places, axis=1)
        hidden_states, cache = decoder.step(last, places, state["cache"])
        logits = ops.cast(decoder.project(hidden_states), "float32")
        return count + 1, method(decoder, {**state, "cache": cache}, logits, choices)

    def grow(count, state):
        room = ops.where(ops.max(state["lengths"]) > _capacity(state), decoder.growth, 0)
        return ops.while_loop(fits, body, (count, {**state, "cache": with_room(state["cache"], room)}))

    begin = (ops.zeros((), "int32"), state)
    if decoder.growth is None:
        return ops.while_loop(unfinished, body, begin)[1]
    return ops.while_loop(unfinished, grow, begin)[1]


def _capacity(state: State) -> Any:
    """Places of the cache."""
    return ops.shape(state["cache"][0]["key"])[2]


def with_room(cache: list[dict[str, Any]], places: Any) -> list[dict[str, Any]]:
    """A cache with more places for new tokens; what comes from an encoder stays as it is.

    Args:
        cache: For each block a dict of tensors, of which `key` and `value` are (B, K, S, H).
        places: How many more.
    """
    widths = [(0, 0), (0, 0), (0, places), (0, 0)]
    return [{name: ops.pad(x, widths) if name in ("key", "value") else x for name, x in own.items()} for own in cache]


def rows_of_cache(cache: list[dict[str, Any]], rows: Any) -> list[dict[str, Any]]:
    """The cache of some rows; what rows of the same source share (`cross_key`, ...) stays as it is.

    Args:
        cache: For each block a dict of tensors, of which those named `cross_...` have one row a source.
        rows: int32 (n,).
    """
    return [
        {name: x if name.startswith("cross_") else ops.take(x, rows, axis=0) for name, x in own.items()}
        for own in cache
    ]


def append(decoder: Decoder, state: State, token: Any, stops: StopStrings) -> State:
    """The rows with one more token, those that have not ended; whether they end with it.

    Args:
        decoder: The model.
        state: Of `start`.
        token: int32 (B,).
        stops: Stop strings of the rows.
    """
    going = ops.logical_not(state["finished"])
    state = state | _written(state, token, going)
    ended = state["lengths"] >= state["limit"]
    for number in decoder.eos_ids:
        ended = ops.logical_or(ended, token == number)
    state = state | _read(decoder, state, token, going, stops)
    finished = ops.logical_or(ops.logical_or(state["finished"], ended), state["kept_bytes"] < NEVER)
    return state | {"finished": finished}


def _written(state: State, token: Any, going: Any) -> State:
    """The token at the end of the rows that go on."""
    places = ops.arange(ops.shape(state["token_ids"])[1], dtype="int32")
    here = ops.logical_and(places == ops.expand_dims(state["lengths"], 1), ops.expand_dims(going, 1))
    one = ops.cast(going, "int32")
    return {
        "token_ids": ops.where(here, ops.expand_dims(token, 1), state["token_ids"]),
        "lengths": state["lengths"] + one,
        "new": state["new"] + one,
    }


def _read(decoder: Decoder, state: State, token: Any, going: Any, stops: StopStrings) -> State:
    """Look for stop strings in the bytes of the new token: the tail, the bytes to keep, and those so far."""
    added, last_text = decoder.token_bytes.follow(state["last_text"], token)
    added = ops.where(ops.expand_dims(going, 1), added, NO_BYTE)
    tail, first = find_stop(state["tail"], added, stops)
    found = ops.logical_and(first < NEVER, going)
    return {
        "last_text": ops.where(going, last_text, state["last_text"]),
        "tail": tail,
        "kept_bytes": ops.where(found, state["num_bytes"] + first, state["kept_bytes"]),
        "num_bytes": state["num_bytes"] + ops.sum(ops.cast(added != NO_BYTE, "int32"), axis=1),
    }
