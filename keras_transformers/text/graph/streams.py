"""Operations on streams: the code points (or ids) of B texts end to end, as a RaggedTensor (values, row_splits)."""

from __future__ import annotations

import tensorflow as tf


def stream(values: tf.Tensor, row_splits: tf.Tensor) -> tf.RaggedTensor:
    """Rows `values[row_splits[i]:row_splits[i + 1]]`, unchecked."""
    return tf.RaggedTensor.from_row_splits(values, row_splits, validate=False)


def offsets(lengths: tf.Tensor) -> tf.Tensor:
    """Row splits (N + 1,) of N rows of these lengths."""
    return tf.concat([[0], tf.cumsum(lengths)], 0)


def row_starts(points: tf.RaggedTensor) -> tf.Tensor:
    """(N,) bool: True for the first value of each row."""
    first = points.row_splits[:-1]
    return tf.scatter_nd(first[:, None], tf.ones_like(first), [tf.size(points.values, first.dtype) + 1])[:-1] > 0


def shift(values: tf.Tensor, edge: object, by: int = 1) -> tf.Tensor:
    """The value before each value (`by=1`) or after it (`by=-1`), across rows; `edge` at the end."""
    end = [tf.cast(edge, values.dtype)]
    return tf.concat([end, values], 0)[:-1] if by > 0 else tf.concat([values, end], 0)[1:]


def keep(points: tf.RaggedTensor, mask: tf.Tensor) -> tf.RaggedTensor:
    """Drop the values where `mask` is False."""
    kept_before = offsets(tf.cast(mask, points.row_splits.dtype))
    return stream(tf.boolean_mask(points.values, mask), tf.gather(kept_before, points.row_splits))


def insert(
    points: tf.RaggedTensor, starts: tf.Tensor, before: tf.Tensor, value: int
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Put a value before each value where `before` is True; it takes over that value's flag in `starts` (N,) bool."""
    copies = tf.where(before, 2, 1)  # (N,)
    source = tf.repeat(tf.range(tf.size(points.values)), copies)  # (N + inserted,)
    is_new = source == shift(source, -1, by=-1)
    values = tf.where(is_new, value, tf.gather(points.values, source))
    starts = tf.gather(starts, source) & ~shift(is_new, False)
    return stream(values, tf.gather(offsets(tf.cast(copies, points.row_splits.dtype)), points.row_splits)), starts


def replace(points: tf.RaggedTensor, start: tf.Tensor, length: tf.Tensor, pool: tf.Tensor) -> tf.RaggedTensor:
    """Replace each value by `pool[start : start + length]`.

    Args:
        points: N values in B rows.
        start: (N,) int32; negative to keep a value as it is (its length must be 1).
        length: (N,) int32.
        pool: (P,) the new values.
    """
    size = tf.size(points.values)
    start = tf.where(start < 0, tf.range(size), start + size)
    source = tf.ragged.range(start, start + length, row_splits_dtype=points.row_splits.dtype)  # (N, None) places
    values = tf.gather(tf.concat([points.values, pool], 0), source.values)
    return stream(values, tf.gather(source.row_splits, points.row_splits))


def reachable(starts: tf.Tensor, successor: tf.Tensor, most: tf.Tensor | int) -> tf.Tensor:
    """(N,) bool: nodes that walks from `starts` visit, in O(N log most): each round doubles the stride.

    Args:
        starts: (N,) bool.
        successor: (N,) int32, the next node of each: N to end the walk, itself to stay.
        most: the largest number of steps that a walk may need.
    """

    def double(reached: tf.Tensor, jump: tf.Tensor, stride: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        landed = tf.gather(jump, tf.where(reached))  # (R, 1)
        reached = tf.tensor_scatter_nd_update(reached, landed, tf.ones_like(landed[:, 0], tf.bool))
        return reached, tf.gather(jump, jump), stride * 2

    jump = tf.concat([successor, [tf.size(successor)]], 0)  # (N + 1,): the last node ends walks
    reached = tf.concat([starts, [False]], 0)  # (N + 1,)
    return tf.while_loop(lambda reached, jump, stride: stride <= most, double, (reached, jump, 1))[0][:-1]
