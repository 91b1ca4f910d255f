"""The state that the generation loop carries from token to token."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from keras import ops

from keras_transformers.generation.stop import StopStrings, empty_tail
from keras_transformers.layers.attention.cache import has_places, joined, parted, take_places
from keras_transformers.layers.positions.cache_places import held_positions
from keras_transformers.utils.tensor_types import Tensor

Rings = Sequence[int | None]  # for each block the places of its cache if that is a ring, or nothing: no block has one
BEYOND = 2**30  # bytes: at least as many as a text has, if no stop string ends it


class Source(NamedTuple):
    """The part of the cache that rows of one source text share: one row here for n consecutive rows of the state."""

    blocks: list[dict[str, Tensor]]  # for each block "cross_key" and "cross_value", each (B / n, K, S, H)
    mask: Tensor  # int32 (B / n, S), 0 for padding
    token_ids: Tensor  # int32 (B / n, S), padded on the right


class Cache(NamedTuple):
    """Keys and values of the tokens so far, or states that hold them all."""

    blocks: list[dict[str, Tensor]]  # for each block "key" and "value", each (B, K, T, H), or a state, (B, ...)
    source: Source | tuple[()] = ()  # of a model with an encoder
    coverage: Tensor | tuple[()] = ()  # float32 (B, S), the attention that each token of the source has got so far

    def places(self, rings: Rings = ()) -> Tensor:
        """Return the number of tokens that there is room for: T, or `BEYOND` where rings that are full have it all."""
        sizes = [(ops.shape(block["key"])[2], ring) for block, ring in self._with_rings(rings) if "key" in block]
        size, ring = max(sizes, key=lambda pair: math.inf if pair[1] is None else pair[1])
        return size if ring is None else ops.where(ops.equal(size, ring), BEYOND, size)

    def grown(self, places: Tensor | int, rings: Rings = ()) -> Cache:
        """Return the cache with more places for new tokens; a state needs none, a ring not more than its size."""

        def grow(part: Tensor, ring: int | None) -> Tensor:
            more = places if ring is None else smaller(places, ring - ops.shape(part)[2])
            return ops.pad(part, [(0, 0), (0, 0), (0, more), (0, 0)])

        return self._each_part(grow, rings)

    def in_rings(self, newest: Tensor, rings: Rings) -> Cache:
        """Return the cache in which a ring holds the last tokens only, up to `newest`, int32 (B,), -1 for none."""

        def turn(part: Tensor, ring: int | None) -> Tensor:
            if ring is None:
                return part
            held = held_positions(newest, smaller(ops.shape(part)[2], ring))  # (B, S)
            return take_places(part, ops.maximum(held, 0))  # what is at a place that holds nothing is not seen

        return self._each_part(turn, rings)

    def _each_part(self, change: Callable[[Tensor, int | None], Tensor], rings: Rings) -> Cache:
        """Return the cache with changed parts, but for states."""
        return self._replace(
            blocks=[
                {name: change(part, ring) if has_places(name) else part for name, part in block.items()}
                for block, ring in self._with_rings(rings)
            ]
        )

    def _with_rings(self, rings: Rings) -> Iterator[tuple[dict[str, Tensor], int | None]]:
        """Return each block with the places of its ring; None for a block that has all tokens."""
        return zip(self.blocks, rings or [None] * len(self.blocks), strict=True)

    def rows(self, index: Tensor) -> Cache:
        """Return the cache of some rows, int32 (n,); the part that rows of a source share does not change."""
        blocks = [{name: ops.take(x, index, axis=0) for name, x in block.items()} for block in self.blocks]
        return self._replace(blocks=blocks, coverage=ops.take(self.coverage, index, axis=0) if self.source else ())


def split_cache(blocks: list[dict[str, Tensor]], source: dict[str, Tensor], attends: bool) -> Cache:
    """Return the cache of `prefill`; the encoder's part is kept apart, as beams share it."""
    if not source:
        return Cache(blocks)
    own, of_context = zip(*map(parted, blocks), strict=True)
    mask = source["encoder_padding_mask"]
    # Without attention there is no coverage to make up for.
    coverage = (ops.zeros_like if attends else ops.ones_like)(mask, dtype="float32")  # (B, S)
    shared = Source([joined({}, parts) for parts in of_context], mask, source["encoder_token_ids"])
    return Cache([*own], shared, coverage)


class Written(NamedTuple):
    """Texts as token ids, with their scores."""

    token_ids: Tensor  # int32 (B, T), prompt and new tokens
    lengths: Tensor  # int32 (B,), of both
    num_new: Tensor  # int32 (B,), new tokens
    kept_bytes: Tensor  # int32 (B,), bytes of the new text before its stop string; `BEYOND` where it has none
    score: Tensor  # float32 (B,)


class State(NamedTuple):
    """Texts that grow, a row each."""

    token_ids: Tensor  # int32 (B, T), prompt and new tokens, with room for all
    lengths: Tensor  # int32 (B,), of both so far
    num_new: Tensor  # int32 (B,), new tokens so far
    limit: Tensor  # int32 (B,), tokens of both at most
    finished: Tensor  # boolean (B,)
    score: Tensor  # float32 (B,)
    last_entry: Tensor  # int32 (B,), the last token's entry in `TokenBytes`, or `spelling.NOTHING_YET`
    tail: Tensor  # int32 (B, M - 1), the last bytes, in which a stop string may have begun
    num_bytes: Tensor  # int32 (B,), bytes of the new text so far
    kept_bytes: Tensor  # int32 (B,), as in `Written`
    cache: Cache
    hypotheses: Written | tuple[()] = ()  # of beam search: texts that have ended, best first
    draft: Cache | tuple[()] = ()  # of a small model that guesses tokens

    @property
    def read(self) -> tuple[Tensor, Tensor]:
        """Return the texts that the rows have read, source or prompt.

        They are int32 (B, S), padded on the right, and lengths (B,).
        """
        if not self.cache.source:
            return self.token_ids, self.lengths - self.num_new
        source = self.cache.source
        number = ops.shape(self.lengths)[0] // ops.shape(source.mask)[0]
        columns = (source.token_ids, ops.sum(source.mask, axis=1))
        return tuple(ops.repeat(ops.cast(column, "int32"), number, axis=0) for column in columns)

    @property
    def written(self) -> Written:
        """Return the texts: the hypotheses of beam search, or else the rows themselves."""
        return self.hypotheses or Written(self.token_ids, self.lengths, self.num_new, self.kept_bytes, self.score)


def smaller(first: Any, second: Any) -> Any:
    """Return the smaller of two sizes: an int if both are known."""
    known = isinstance(first, int) and isinstance(second, int)
    return min(first, second) if known else ops.minimum(first, second)


def first_state(
    cache: Cache, token_ids: Tensor, lengths: Tensor, limit: Tensor, last_entry: Tensor, stop: StopStrings
) -> State:
    """Return the state before the first new token.

    Args:
        cache: Cache of the prompts (B rows).
        token_ids: int32 (B, T), the prompts, padded on the right, with room for the new tokens.
        lengths: int32 (B,), tokens of each prompt.
        limit: int32 (B,), tokens of prompt and text at most.
        last_entry: int32 (B,), as in `State`.
        stop: Stop strings of B rows.
    """
    zeros = ops.zeros_like(lengths)
    return State(
        token_ids=token_ids,
        lengths=lengths,
        num_new=zeros,
        limit=limit,
        finished=lengths >= limit,
        score=ops.cast(zeros, "float32"),
        last_entry=last_entry,
        tail=empty_tail(stop),
        num_bytes=zeros,
        kept_bytes=zeros + BEYOND,
        cache=cache,
    )
