"""The generation program: a forward pass over the prompts, then a loop of one token a turn. `keras.ops` only.

The loop knows neither the model nor how a token is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import keras
from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.generation.prescribed import NOTHING, Prescribed
from keras_transformers.generation.request import Request
from keras_transformers.generation.spelling import NOTHING_YET, TokenBytes
from keras_transformers.generation.state import BEYOND, Cache, Rings, State, first_state, smaller, split_cache
from keras_transformers.generation.stop import NO_BYTE, NOWHERE, StopStrings, find_stop
from keras_transformers.layers.attention.cache import parted
from keras_transformers.layers.core.dense import with_length, without_length
from keras_transformers.layers.core.gather import take_at
from keras_transformers.models.decoder import prefill, ring_windows, step
from keras_transformers.utils.tensor_types import Tensor


class Method(Protocol):
    """A way to choose tokens: `sampling.Sampling` or `beam.BeamSearch`."""

    def begin(self, state: State, request: Request) -> State:
        """Return the state before the first token, with what the method keeps besides."""

    def __call__(self, program: Program, state: State, logits: Tensor, request: Request) -> State:
        """Return the state with one more token for each unfinished row, from logits (B, V)."""


@dataclass(frozen=True)
class Program:
    """The functions and constants of a model that the loop needs; made by `make_program`.

    Args:
        prefill: `models.decoder.prefill`.
        step: `models.decoder.step`; beside an encoder with `cross_attention_scores`.
        project: Function from hidden states (B, D) to logits (B, V).
        eos_ids: Tokens that end a text.
        token_bytes: Bytes that each token adds to a text.
        prescribed: Generation settings of the checkpoint.
        cache_increment: Places that a full cache gets; None where it has room for all tokens from the start.
        attends: Whether the decoder attends to an encoder, where there is one.
        shares_ids: Whether the token ids of a source, where there is one, have the same meaning as the texts'.
        by_length: Whether the scale of rotary positions depends on the length of a text: the model takes
            `text_lengths`, here the tokens of prompt and text at most, so that it is the same from the first token to
            the last one.
        windows: `models.decoder.ring_windows`.
        read_on: `step` for prompts behind a prefix, which are padded: blocks with a state take a `padding_mask`.
    """

    prefill: Callable
    step: Callable
    project: Callable
    eos_ids: tuple[int, ...]
    token_bytes: TokenBytes
    prescribed: Prescribed = NOTHING
    cache_increment: int | None = None
    attends: bool = True
    shares_ids: bool = True
    by_length: bool = False
    windows: Sequence[int | None] = ()
    read_on: Any = None

    def start(
        self, method: Method, prompts: Tensor, lengths: Tensor, limit: Tensor, request: Request, number: Tensor | int,
        source: dict[str, Tensor], room: Tensor | int | None = None, prefix: Any = (),
    ) -> tuple[State, Request]:  # fmt: skip
        """Run the forward pass over the prompts.

        It reads all tokens but the last of each prompt, which the loop reads, for its logits. So the program chooses
        tokens at one place only, and is half as large; and no state reads a token twice.

        Args:
            method: Method that chooses tokens.
            prompts: int32 (B, P), padded on the right; behind a prefix they begin with its last token.
            lengths: int32 (B,), at least 1; tokens of prefix and prompt.
            limit: int32 (B,), tokens of prompt and text at most.
            request: Request of B rows.
            number: n, texts or beams for each prompt: int, or an int32 scalar tensor.
            source: Inputs of the encoder, if there is one: `encoder_token_ids` and `encoder_padding_mask`, both int32
                (B, S); for any other model, `{}`.
            room: Places for new tokens after P, where it must be known beforehand (JAX); as many as needed when None.
            prefix: A `prefix.Prefix` before each prompt; of a model without encoder.

        Returns:
            The state and the request of B * n rows; rows of the first prompt come first.
        """
        token_ids, cache = self.read_prompts(prompts, lengths, limit, source, room, prefix)
        order = ops.repeat(ops.arange(ops.shape(lengths)[0], dtype="int32"), number)  # (B * n,)
        token_ids, lengths, limit = (ops.take(x, order, axis=0) for x in (token_ids, lengths, limit))
        request = request.repeated(number)
        last = take_at(token_ids, ops.expand_dims(ops.maximum(lengths - 1, 0), 1))[:, 0]
        last_entry = ops.full_like(last, NOTHING_YET) if source else last
        state = first_state(cache.rows(order), token_ids, lengths, limit, last_entry, request.stop)
        return method.begin(state, request), request

    def read_prompts(
        self, prompts: Tensor, lengths: Tensor, limit: Tensor, source: dict[str, Tensor],
        room: Tensor | int | None = None, prefix: Any = (),
    ) -> tuple[Tensor, Cache]:  # fmt: skip
        """Read all tokens of the prompts but the last.

        Args:
            prompts, lengths, limit, source, room, prefix: As for `start`.

        Returns:
            The token ids of prefix and prompts, int32 (B, T), with room for the new tokens, and the cache.
        """
        longest = ops.shape(prompts)[1]
        past = ops.shape(prefix.token_ids)[0] - 1 if prefix else 0  # F - 1 tokens have been read
        is_read = ops.arange(longest, dtype="int32") < ops.expand_dims(lengths - (past + 1), 1)  # (B, P)
        inputs = {"token_ids": prompts, "padding_mask": ops.cast(is_read, "int32")}
        if prefix:
            cache = self._read_behind(prefix.blocks, past, inputs)
            before = ops.broadcast_to(prefix.token_ids[:-1], (ops.shape(prompts)[0], past))
            prompts = ops.concatenate([before, prompts], axis=1)  # (B, F - 1 + P)
        else:
            cache = self.prefill({**inputs, **source, **self._lengths(limit)})["cache"]
            cache = split_cache(cache, source, self.attends)

        end = ops.shape(prompts)[1]
        room = self.text_places(ops.maximum(ops.max(limit), end)) - end if room is None else room
        cache = cache.in_rings(lengths - 2, self.rings)  # the newest token in it is the last but one
        cache = cache.grown(room if self.cache_increment is None else smaller(room, self.cache_increment), self.rings)
        return ops.pad(prompts, [(0, 0), (0, room)]), cache

    def _read_behind(self, blocks: list[dict[str, Tensor]], past: Tensor, inputs: dict[str, Tensor]) -> Cache:
        """Return the cache after prompts (B, P) behind a prefix, of whose tokens `past` have been read."""
        rows, longest = ops.shape(inputs["token_ids"])
        cache = Cache(blocks).rows(ops.zeros((rows,), "int32")).grown(longest - 1)
        places = ops.broadcast_to(past + ops.arange(longest, dtype="int32"), (rows, longest))  # (B, P)
        known = {name: inputs[name] for name in inputs if name in self.read_on.input}
        return Cache(self.read_on({**known, "cache_positions": places, "cache": cache.blocks})["cache"])

    def advance(self, method: Method, state: State, request: Request, turns: Tensor | int) -> State:
        """Return the state after so many more turns, or when all rows have ended.

        Args:
            method: As for `start`.
            state, request: As returned by `start`; the state may come from this function, too.
            turns: Maximum number of turns; each adds one token, or more with guesses.
        """

        def unfinished(count, state):
            return ops.logical_and(count < turns, ops.logical_not(ops.all(state.finished)))

        def fits(count, state):
            return ops.logical_and(
                unfinished(count, state), self.needed_places(state) <= state.cache.places(self.rings)
            )

        def grow(count, state):
            is_full = self.needed_places(state) > state.cache.places(self.rings)
            cache = state.cache.grown(ops.where(is_full, self.more_places(state.cache), 0), self.rings)
            return self.loop(fits, method, request, count, state._replace(cache=cache))

        begin = (ops.zeros((), "int32"), state)
        if self.cache_increment is None:
            return self.loop(unfinished, method, request, *begin)[1]
        return ops.while_loop(unfinished, grow, begin)[1]

    def loop(
        self, goes_on: Callable, method: Method, request: Request, count: Tensor, state: State
    ) -> tuple[Tensor, State]:
        """Take turns as long as a condition holds.

        Args:
            goes_on: Function from the number of turns and the state to a boolean scalar: whether the loop continues.
            method, request: As for `advance`.
            count, state: Number of turns and state before the first turn.

        Returns:
            The number of turns and the state after the last one.
        """

        def body(count, state):
            return count + 1, self.turn(method, state, request)

        return ops.while_loop(goes_on, body, (count, state))

    def turn(self, method: Method, state: State, request: Request) -> State:
        """Return the state with one token more for each unfinished row."""
        places = ops.expand_dims(ops.maximum(state.lengths - 1, 0), 1)  # (B, 1)
        logits, cache = self.read(state, take_at(state.token_ids, places), places)  # (B, 1, V)
        return method(self, state._replace(cache=cache), without_length(logits), request)

    def text_places(self, tokens: Tensor) -> Tensor:
        """Return the places that texts get, int32 (), where the longest will have so many tokens."""
        return tokens

    def more_places(self, cache: Cache) -> Tensor | int | None:
        """Return the number of places that a full cache gets."""
        return self.cache_increment

    @property
    def pass_tokens(self) -> int:
        """Return the number of tokens of a row that the loop reads at a time, at most."""
        return 1

    @property
    def rings(self) -> Rings:
        """Places of each block's cache, if it is a ring."""
        return [None if window is None else window + self.pass_tokens - 1 for window in self.windows]

    def needed_places(self, state: State) -> Tensor:
        """Return the number of places in the cache that the next turn may write to."""
        return ops.max(state.lengths)

    def read(self, state: State, token_ids: Tensor, places: Tensor) -> tuple[Tensor, Cache]:
        """Compute the logits (B, T, V) after tokens, and the cache with their keys and values.

        Args:
            state: State, of which the cache is read.
            token_ids: int32 (B, T).
            places: int32 (B, T), the place of each in its row.
        """
        inputs = {"token_ids": token_ids, "cache_positions": places, "cache": state.cache.blocks}
        inputs |= self._lengths(state.limit)
        cache = state.cache
        if cache.source:
            blocks = zip(cache.blocks, cache.source.blocks, strict=True)
            inputs["cache"] = [{**own, **shared} for own, shared in blocks]
            inputs["encoder_padding_mask"] = cache.source.mask
        outputs = self.step(inputs)
        cache = cache._replace(blocks=[parted(block)[0] for block in outputs["cache"]])
        if cache.source and self.attends:  # of the last token only: beams, which read it, have no other
            scores = outputs["cross_attention_scores"][:, -1, :, -1]  # (B, N, S), of the last block
            cache = cache._replace(coverage=cache.coverage + ops.cast(ops.mean(scores, axis=1), "float32"))
        logits = ops.cast(self.project(without_length(outputs["hidden_states"])), "float32")  # (B * T, V)
        return with_length(logits, token_ids.shape[1]), cache

    def _lengths(self, limit: Tensor) -> dict[str, Tensor]:
        return {"text_lengths": ops.expand_dims(limit, 1)} if self.by_length else {}

    def append(self, state: State, token: Tensor, stop: StopStrings) -> State:
        """Add a token to each row that has not ended, and note which rows end with it.

        Args:
            state: State with any number of rows, such as the candidates of beam search.
            token: int32 (B,).
            stop: Stop strings of these rows.
        """
        going = ops.logical_not(state.finished)
        places = ops.arange(ops.shape(state.token_ids)[1], dtype="int32")
        here = ops.logical_and(places == ops.expand_dims(state.lengths, 1), ops.expand_dims(going, 1))  # (B, T)
        one = ops.cast(going, "int32")
        state = state._replace(
            token_ids=ops.where(here, ops.expand_dims(token, 1), state.token_ids),
            lengths=state.lengths + one,
            num_new=state.num_new + one,
        )
        ended = state.lengths >= state.limit
        for eos_id in self.eos_ids:
            ended = ops.logical_or(ended, token == eos_id)
        state = self._look_for_stop(state, token, going, stop)
        ended = ops.logical_or(ended, state.kept_bytes < BEYOND)
        return state._replace(finished=ops.logical_or(state.finished, ended))

    def _look_for_stop(self, state: State, token: Tensor, going: Tensor, stop: StopStrings) -> State:
        """Look for stop strings that end in the bytes of the new token, and return the state."""
        added, last_entry = self.token_bytes.follow(state.last_entry, token)  # (B, W), (B,)
        added = ops.where(ops.expand_dims(going, 1), added, NO_BYTE)
        tail, first = find_stop(state.tail, added, stop)
        is_stopped = ops.logical_and(first < NOWHERE, going)
        return state._replace(
            last_entry=ops.where(going, last_entry, state.last_entry),
            tail=tail,
            kept_bytes=ops.where(is_stopped, state.num_bytes + first, state.kept_bytes),
            num_bytes=state.num_bytes + ops.sum(ops.cast(added != NO_BYTE, "int32"), axis=1),
        )


def make_program(
    config: TransformerConfig, model: keras.Model, token_bytes: TokenBytes, project: Callable,
    prescribed: Prescribed = NOTHING, in_place: bool = False, cache_increment: int | None = None,
) -> Program:  # fmt: skip
    """Return the program of a model.

    Args:
        config: Configuration of the model.
        model: A model made from `models.decoder` or `models.encoder_decoder`, with a language model's head.
        token_bytes, project, prescribed, cache_increment: As in `Program`.
        in_place: Whether the cache may be overwritten, as `layers.Attention` says.
    """
    attends = config.kind == "encoder_decoder" and config.cross_attention
    outputs = ("cross_attention_scores",) if attends else ()
    reader, one_step = prefill(config, model), step(config, model, outputs, in_place)
    read_on = step(config, model, in_place=in_place, padded=True) if config.has_states else one_step
    return Program(
        reader, one_step, project, config.eos_ids, token_bytes, prescribed, cache_increment, config.cross_attention,
        config.encoder_vocabulary_size is None, "text_lengths" in reader.input, ring_windows(config), read_on,
    )  # fmt: skip
