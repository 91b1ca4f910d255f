"""Byte-pair merges as ops, for many words at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.streams.lookup_tables import lookup_table
from keras_transformers.text.graph.streams.streams import Tracked, join, shift, stream
from keras_transformers.text.pipelines.components import refuse

# Limits of adjacent symbols in all tokens, and of passes over the merges if tokens are used before they are made.
MOST_PAIRS, MOST_PASSES = 1 << 24, 100
NEVER = tf.int32.max  # the rank of a pair that does not merge
MOST_ROUNDS = 256  # for a word in one piece; GPT-2's and SentencePiece's vocabularies need 10 for 200,000 letters
BLOCK = 1024  # symbols of the pieces that a word is cut into after MOST_ROUNDS
ROW = 1 << 32  # difference of the numbers of two rows: more than a row has blocks
Pair = tuple[int, int]


class Merges(tf.Module):
    """Ops that merge the pair of the lowest rank in every word, the leftmost first, until no pair merges.

    A round merges many pairs of a word at once: pairs whose symbols no merge of a lower rank can ever take, and whose
    product does not merge with a neighbour at a lower rank. This does not change the result. Each round also cuts words
    into parts, between symbols that are adjacent in no token. So a word of N letters takes few rounds, not one for each
    merge. The words are concatenated, without padding.

    In some words each merge still waits for the one before it: ("a", "b") after ("ab", "a") in "ababab...", or a run of
    one letter that merges the longest tokens first. After MOST_ROUNDS the rest of a word is cut into blocks of BLOCK
    symbols, so that its time is not quadratic. Only then the result may differ.

    Args:
        pairs: Ids of the two symbols of each merge, by rank.
        products: Id of the symbol that each merge makes.
        num_ids: The largest id + 1, or more.
    """

    def __init__(self, pairs: Sequence[Pair], products: Sequence[int], num_ids: int):
        super().__init__()
        self.num_ids = num_ids
        # If a pair is listed twice, the later one is used, as in the library.
        ranks = {left * num_ids + right: rank for rank, (left, right) in enumerate(pairs)}
        may_lead_lower = _may_lead_lower(pairs, products)
        self.may_lead_lower = tf.constant(may_lead_lower) if any(may_lead_lower) else None

        first, last = _edges(pairs, products, num_ids, len(pairs) if any(may_lead_lower) else 1)
        from_left: dict[int, int] = {}  # from pair, as one number, to the lowest rank
        from_right: dict[int, int] = {}
        for rank, (left, right) in enumerate(pairs):
            for symbol in last[left]:
                from_left.setdefault(symbol * num_ids + right, rank)
            for symbol in first[right]:
                from_right.setdefault(left * num_ids + symbol, rank)

        keys = [*{-2, *_side_by_side(pairs, first, last, num_ids)}]  # never empty
        self.none = len(keys)  # the entry of pairs that are in no token
        self.entry = lookup_table(keys, list(range(self.none)), tf.int64, tf.int32, self.none)
        self.rank = tf.constant([ranks.get(key, NEVER) for key in (*keys, -2)], tf.int32)
        # The lowest rank of a merge of a product that ends in the left symbol with the right symbol, and the reverse.
        self.from_left, self.from_right = (
            tf.constant([lowest.get(key, NEVER) for key in (*keys, -2)], tf.int32) for lowest in (from_left, from_right)
        )
        self.products = tf.constant([*products, 0], tf.int32)

    def __call__(self, words: Any) -> Any:
        """Merge the symbols of words, (U, None) int32."""

        def step(number: tf.Tensor, ids: tf.Tensor, row: tf.Tensor, entry: tf.Tensor, rank: tf.Tensor, *place) -> tuple:
            merged = self._merge_now(ids, row, entry, rank)  # (M,)
            ids = tf.where(merged, tf.gather(self.products, tf.where(merged, rank, 0)), ids)  # (M,)
            kept = tf.where(~shift(merged, False))[:, 0]  # (M - merged,)
            ids, row, *place = (tf.gather(x, kept) for x in (ids, row, *place))  # type: ignore[assignment]  # a list now
            row = tf.cond(number == MOST_ROUNDS, lambda: _in_blocks(row), lambda: row)
            return number + 1, *self._pairs(ids, row), *place

        place = [tf.range(tf.size(words.values))] if isinstance(words, Tracked) else []  # of each symbol's first letter
        state = (1, *self._pairs(words.values, words.value_rowids() * ROW), *place)  # the round, and (M,) each
        shapes = (tf.TensorShape([]), *(tf.TensorShape([None]),) * len(state[1:]))
        _, ids, row, _, _, *place = tf.while_loop(lambda *state: tf.reduce_min(state[4]) < NEVER, step, state, shapes)
        if place:
            first = tf.scatter_nd(place[0][:, None], tf.ones_like(ids), tf.shape(words.values)) > 0  # (N,)
            return join(words, first).with_values(ids)
        return stream(ids, tf.searchsorted(row, tf.range(words.nrows() + 1) * ROW, out_type=tf.int64))

    def _pairs(self, ids: tf.Tensor, row: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the M symbols and their words, and for each symbol with its successor the table entry and the rank."""
        entry = self._entry(ids, shift(ids, 0, by=-1), row == shift(row, -1, by=-1))
        return ids, row, entry, tf.gather(self.rank, entry)

    def _entry(self, left: tf.Tensor, right: tf.Tensor, same_row: tf.Tensor) -> tf.Tensor:
        keys = tf.cast(left, tf.int64) * self.num_ids + tf.cast(right, tf.int64)
        return self.entry.lookup(tf.where(same_row, keys, -1))

    def _merge_now(self, ids: tf.Tensor, row: tf.Tensor, entry: tf.Tensor, rank: tf.Tensor) -> tf.Tensor:
        """Mark the pairs that a round merges, each by its left symbol, (M,) bool."""
        part = tf.cumsum(tf.cast(entry == self.none, row.dtype), exclusive=True)  # (M,)
        lowest = tf.gather(tf.math.segment_min(rank, part), part)  # (M,)
        next_ones = (rank == lowest) & (rank < NEVER)  # (M,)
        safe = self._are_safe(entry, rank) & (rank < NEVER)  # (M,)
        if self.may_lead_lower is not None:
            lower = self._lead_lower(ids, row, rank, next_ones | safe)  # (M,)
            next_ones, safe = _up_to_first(next_ones, lower, part), safe & ~lower
        return _every_other(next_ones | safe, rank)

    def _are_safe(self, entry: tf.Tensor, rank: tf.Tensor) -> tf.Tensor:
        """Mark the pairs whose symbols no neighbouring pair can take at a lower rank, (M,) bool.

        In "aaaa" neighbouring pairs have the same rank: there `_every_other` decides.
        """
        same_before = rank == shift(rank, NEVER)  # (M,)
        same_after = shift(same_before, False, by=-1)
        before = shift(tf.gather(self.from_left, entry), NEVER)  # (M,)
        after = shift(tf.gather(self.from_right, entry), NEVER, by=-1)
        return ((rank < before) | (same_before & (rank == before))) & ((rank < after) | (same_after & (rank == after)))

    def _lead_lower(self, ids: tf.Tensor, row: tf.Tensor, rank: tf.Tensor, hits: tf.Tensor) -> tf.Tensor:
        """Mark the hits whose product may merge with a neighbour at a lower rank than theirs, or the same, (M,) bool.

        Such further merges come before all other merges of the part.
        """
        place = tf.where(hits & tf.gather(self.may_lead_lower, tf.where(hits, rank, 0)))[:, 0]  # (K,)
        own = tf.gather(rank, place)
        product = tf.gather(self.products, own)

        left, right = shift(ids, 0), shift(shift(ids, 0, by=-1), 0, by=-1)  # (M,) beside the pair
        has_left, has_right = row == shift(row, -1), row == shift(shift(row, -1, by=-1), -1, by=-1)  # (M,)
        before = self._entry(tf.gather(left, place), product, tf.gather(has_left, place))  # (K,)
        after = self._entry(product, tf.gather(right, place), tf.gather(has_right, place))
        lower = (tf.gather(self.from_left, before) <= own) | (tf.gather(self.from_right, after) <= own)  # (K,)
        return tf.tensor_scatter_nd_update(tf.zeros_like(hits), place[:, None], lower)


def _edges(
    pairs: Sequence[Pair], products: Sequence[int], num_ids: int, most: int
) -> tuple[list[set[int]], list[set[int]]]:
    """Return for each symbol the set of its possible first symbols, and of its possible last ones, before merges.

    Each symbol is a member of the sets for it. `most` passes over the merges are enough: one, if no merge may lead to a
    lower rank.
    """
    first, last = ([{i} for i in range(num_ids)] for _ in range(2))
    for number in range(most):
        size = sum(map(len, first + last))
        for (left, right), whole in zip(pairs, products, strict=True):
            first[whole] |= first[left]
            last[whole] |= last[right]
        grown = sum(map(len, first + last))
        if grown == size:
            break
        if grown > MOST_PAIRS or number == MOST_PASSES:
            raise _too_entangled()
    if sum(len(last[left]) * len(first[right]) for left, right in pairs) > MOST_PAIRS:
        raise _too_entangled()
    return first, last


def _too_entangled() -> ValueError:
    return refuse("model", "BPE of these merges", ["BPE whose tokens are made of few others"])


def _side_by_side(pairs: Sequence[Pair], first: list[set[int]], last: list[set[int]], num_ids: int) -> Iterator[int]:
    """Yield the pairs of symbols, each as one number, that may be adjacent inside a symbol before it is merged."""
    for left, right in pairs:
        for symbol in last[left]:
            yield from (symbol * num_ids + other for other in first[right])


def _may_lead_lower(pairs: Sequence[Pair], products: Sequence[int]) -> list[bool]:
    """Return for each merge whether its product merges further at a lower rank or the same, as in Llama 2."""
    lowest = {symbol: rank for rank, pair in reversed([*enumerate(pairs)]) for symbol in pair}
    return [lowest.get(product, NEVER) <= rank for rank, product in enumerate(products)]


def _every_other(hits: tf.Tensor, rank: tf.Tensor) -> tf.Tensor:
    """Mark the first, third, ... of equal pairs that overlap ("aaaa"), (M,) bool; none if the first is not a hit."""
    repeats = (rank == shift(rank, NEVER)) & (rank < NEVER)  # (M,)

    def thinned() -> tf.Tensor:
        position = tf.range(tf.size(hits, tf.int64))
        first = tf.gather(tf.where(~repeats)[:, 0], tf.cumsum(tf.cast(~repeats, tf.int64)) - 1)  # (M,)
        return hits & tf.gather(hits, first) & ((position - first) % 2 == 0)

    return tf.cond(tf.reduce_any(hits & repeats), thinned, lambda: hits)


def _up_to_first(hits: tf.Tensor, stops: tf.Tensor, part: tf.Tensor) -> tf.Tensor:
    """Mark the hits of each part up to and including its first hit that is a stop, or all without a stop, (M,) bool."""
    position = tf.range(tf.size(hits, tf.int64))
    first = tf.math.segment_min(tf.where(hits & stops, position, tf.int64.max), part)
    return hits & (position <= tf.gather(first, part))


def _in_blocks(row: tf.Tensor) -> tf.Tensor:
    """Add to the rows of symbols (M,), multiples of ROW, the number of each symbol's block of BLOCK symbols."""
    first = tf.searchsorted(row, row, out_type=tf.int64)  # (M,)
    return row + (tf.range(tf.size(row, tf.int64)) - first) // BLOCK
