"""Operations on streams: the concatenated code points (or ids) of B texts, as a RaggedTensor (values, row_splits).

A stream may also be `Tracked`: then every value has a span, and the operations keep the spans.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import tensorflow as tf


class Tracked(NamedTuple):
    """A stream with the places in an earlier stream that its values came from: see `tracking`.

    It has the attributes of a RaggedTensor that components use.
    """

    points: tf.RaggedTensor
    spans: tf.Tensor  # (N, K) int32: start and stop among the earlier values; the other columns are carried along

    @property
    def values(self) -> tf.Tensor:
        return self.points.values

    @property
    def row_splits(self) -> tf.Tensor:
        return self.points.row_splits

    def with_values(self, values: tf.Tensor) -> Tracked:
        return Tracked(self.points.with_values(values), self.spans)

    def with_starts(self, starts: tf.Tensor) -> Tracked:
        return Tracked(self.points, tf.concat([starts[:, None], self.spans[:, 1:]], 1))

    def with_stops(self, stops: tf.Tensor) -> Tracked:
        return Tracked(self.points, tf.concat([self.spans[:, :1], stops[:, None], self.spans[:, 2:]], 1))

    def value_rowids(self) -> tf.Tensor:
        return self.points.value_rowids()

    def row_lengths(self) -> tf.Tensor:
        return self.points.row_lengths()


Stream: TypeAlias = tf.RaggedTensor | Tracked


def stream(values: tf.Tensor, row_splits: tf.Tensor) -> tf.RaggedTensor:
    """Return rows `values[row_splits[i]:row_splits[i + 1]]`, unchecked."""
    return tf.RaggedTensor.from_row_splits(values, row_splits, validate=False)


def _like(points: Stream, values: tf.Tensor, row_splits: tf.Tensor, spans: Callable[[tf.Tensor], tf.Tensor]) -> Stream:
    """Return the stream of new values, tracked if `points` is; `spans` computes the new spans from the old ones."""
    rows = stream(values, row_splits)
    return Tracked(rows, spans(points.spans)) if isinstance(points, Tracked) else rows


def offsets(lengths: tf.Tensor) -> tf.Tensor:
    """Return the row splits (N + 1,) of N rows of these lengths."""
    return tf.concat([[0], tf.cumsum(lengths)], 0)


def row_starts(points: Stream) -> tf.Tensor:
    """Mark the first value of each row, (N,) bool."""
    first = points.row_splits[:-1]
    return tf.scatter_nd(first[:, None], tf.ones_like(first), [tf.size(points.values, first.dtype) + 1])[:-1] > 0


def shift(values: tf.Tensor, edge: object, by: int = 1) -> tf.Tensor:
    """Return the value before each value (`by=1`) or after it (`by=-1`), across rows; `edge` at the end."""
    end = [tf.cast(edge, values.dtype)]
    return tf.concat([end, values], 0)[:-1] if by > 0 else tf.concat([values, end], 0)[1:]


def keep(points: Stream, mask: tf.Tensor) -> Stream:
    """Drop the values where `mask` is False."""
    kept_before = offsets(tf.cast(mask, points.row_splits.dtype))
    row_splits = tf.gather(kept_before, points.row_splits)
    return _like(points, tf.boolean_mask(points.values, mask), row_splits, lambda spans: tf.boolean_mask(spans, mask))


def join(points: Stream, mask: tf.Tensor) -> Stream:
    """Join the values where `mask` is False to the one before them, which takes over the end of their span.

    The first value of each row must stay.
    """
    kept = keep(points, mask)
    if not isinstance(points, Tracked):
        return kept
    last = shift(tf.where(mask)[:, 0], tf.size(mask), by=-1) - 1  # (M,) the last of the joined values
    return kept.with_stops(tf.gather(points.spans[:, 1], last))


def insert(points: Stream, starts: tf.Tensor, before: tf.Tensor, value: int) -> tuple[Stream, tf.Tensor]:
    """Put a value before each value where `before` is True; it takes over that value's flag in `starts` (N,) bool."""
    copies = tf.where(before, 2, 1)  # (N,)
    source = tf.repeat(tf.range(tf.size(points.values)), copies)  # (N + inserted,)
    is_new = source == shift(source, -1, by=-1)
    values = tf.where(is_new, value, tf.gather(points.values, source))
    starts = tf.gather(starts, source) & ~shift(is_new, False)
    row_splits = tf.gather(offsets(tf.cast(copies, points.row_splits.dtype)), points.row_splits)
    return _like(points, values, row_splits, lambda spans: tf.gather(spans, source)), starts


def replace(points: Stream, start: tf.Tensor, length: tf.Tensor, pool: tf.Tensor | Tracked) -> Stream:
    """Replace each value by `pool[start : start + length]`; the new values take over its span.

    Args:
        points: N values in B rows.
        start: (N,) int32; negative to keep a value as it is (its length must be 1).
        length: (N,) int32.
        pool: (P,) the new values; if tracked, their spans are parts of the span that they take over.
    """
    new = pool.values if isinstance(pool, Tracked) else pool
    size = tf.size(points.values)
    start = tf.where(start < 0, tf.range(size), start + size)
    source = tf.ragged.range(start, start + length, row_splits_dtype=points.row_splits.dtype)  # (N, None) places
    values = tf.gather(tf.concat([points.values, new], 0), source.values)

    def spans(old: tf.Tensor) -> tf.Tensor:
        old = tf.gather(old, source.value_rowids())  # (M, K)
        if not isinstance(pool, Tracked):
            return old
        inner = tf.gather(tf.concat([tf.zeros_like(points.spans), pool.spans], 0), source.values)
        return tf.where(source.values[:, None] < size, old, old[:, :1] + inner)

    return _like(points, values, tf.gather(source.row_splits, points.row_splits), spans)


def reachable(starts: tf.Tensor, successor: tf.Tensor, most: tf.Tensor | int) -> tf.Tensor:
    """Mark the nodes that walks from `starts` visit, (N,) bool, in O(N log most): each round doubles the stride.

    Args:
        starts: (N,) bool.
        successor: (N,) int32, the next node of each: N to end the walk, itself to stay.
        most: The largest number of steps that a walk may need.
    """

    def double(reached: tf.Tensor, jump: tf.Tensor, stride: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        landed = tf.gather(jump, tf.where(reached))  # (R, 1)
        reached = tf.tensor_scatter_nd_update(reached, landed, tf.ones_like(landed[:, 0], tf.bool))
        return reached, tf.gather(jump, jump), stride * 2

    jump = tf.concat([successor, [tf.size(successor)]], 0)  # (N + 1,): the last node ends walks
    reached = tf.concat([starts, [False]], 0)  # (N + 1,)
    return tf.while_loop(lambda reached, jump, stride: stride <= most, double, (reached, jump, 1))[0][:-1]


def leftmost(at: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
    """Mark the matches [at, stop), in order, that a search from the left without overlaps finds, (M,) bool."""
    return reachable(tf.range(tf.size(at)) == 0, tf.searchsorted(at, stop), tf.size(at))
