"""Rows of tokens as ops: texts and special tokens joined, and padded on the right."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import tensorflow as tf

from keras_transformers.text.graph.outputs.trim import Trim
from keras_transformers.text.graph.streams.streams import Stream, Tracked

NOWHERE = (0, 0, -1, 0, 0)  # the span of special tokens and padding: see `locate`


class Part(NamedTuple):
    """A part of each of B rows: tokens of a text, or special tokens."""

    values: tf.Tensor  # (N,) int32
    spans: tf.Tensor | None  # (N, K) int32, see `locate`; None for special tokens, or without offsets
    start: tf.Tensor  # (B,) int32, where in the values the part of each row begins
    length: tf.Tensor  # (B,) int32, how many values it has
    segment: int
    sequence: int = -1  # 0 for the first text, 1 for the second

    @classmethod
    def of_text(cls, tokens: Stream, start: tf.Tensor, length: tf.Tensor, segment: int, sequence: int) -> Part:
        spans = tokens.spans if isinstance(tokens, Tracked) else None
        return cls(tokens.values, spans, start, length, segment, sequence)


def lay_out(parts: list[Part], pad_id: int, trim: Trim | None) -> dict[str, tf.Tensor]:
    """Join the parts of each row.

    Returns:
        token_ids, segment_ids (B, T) int32 and padding_mask (B, T) bool; with spans, also offsets (B, T, 2) int32,
        trimmed by `trim`, and word_ids and sequence_ids (B, T) int32.
    """
    ends = [*accumulate((part.length for part in parts), tf.add)]  # (B,) each
    total, begins = ends[-1], [tf.zeros_like(ends[0]), *ends[:-1]]
    column = tf.range(tf.maximum(tf.reduce_max(total), 1))[None]  # (1, T), T > 0: models read column 0 even of 0 rows
    before = [column < end[:, None] for end in ends]  # (B, T) each

    # From the last part to the first, each takes all columns before its end: the parts before it take theirs later.
    pool, size = [tf.constant([pad_id])], 1
    place = segment_ids = tf.zeros_like(total[:, None] + column)  # (B, T)
    for part, begin, is_before in reversed([*zip(parts, begins, before, strict=True)]):
        place = tf.where(is_before, column + (part.start - begin + size)[:, None], place)
        if any(other.segment for other in parts):
            segment_ids = tf.where(is_before, part.segment, segment_ids)
        pool.append(part.values)
        size += tf.size(part.values)
    token_ids = tf.gather(tf.concat(pool, 0), place)  # (B, T)

    rows = {"token_ids": token_ids, "segment_ids": segment_ids, "padding_mask": before[-1]}
    if all(part.spans is None for part in parts):
        return rows
    return rows | _located(parts, begins, before, column, trim)


def model_inputs(
    rows: dict[str, tf.Tensor], pad_id: int, length: int | tf.Tensor | None = None
) -> dict[str, tf.Tensor]:
    """Convert encoded rows to the inputs of models: int32, except `truncated`, and of a static length, if one is given.

    Args:
        rows: Result of `TextGraph.encode` or `encode_windows`, of at most `length` tokens.
        pad_id: The id that `token_ids` are padded with, on the right.
        length: T, a scalar tensor where it depends on the rows; None for the length of the longest row.

    Example:

    >>> rows = {"token_ids": tf.constant([[5, 6]]), "padding_mask": tf.constant([[True, True]])}
    >>> [column.numpy().tolist() for column in model_inputs(rows, 9, 4).values()]
    [[[5, 6, 9, 9]], [[1, 1, 0, 0]]]
    """
    inputs = {name: column if name == "truncated" else tf.cast(column, tf.int32) for name, column in rows.items()}
    if length is None:
        return inputs
    short = length - tf.shape(inputs["token_ids"])[1]

    def widened(name: str, column: tf.Tensor) -> tf.Tensor:
        padding = pad_id if name == "token_ids" else 0
        wide = tf.pad(column, [[0, 0], [0, short]], constant_values=padding)
        return tf.ensure_shape(wide, [None, length if isinstance(length, int) else None])  # (B, T)

    return {name: widened(name, column) if column.shape.rank == 2 else column for name, column in inputs.items()}


def _located(
    parts: list[Part], begins: list[tf.Tensor], before: list[tf.Tensor], column: tf.Tensor, trim: Trim | None
) -> dict[str, tf.Tensor]:
    """Return the offsets, word ids and sequence ids of rows.

    Args:
        parts: Parts of the rows, of which some have spans.
        begins: (B,) int32, the first column of each part.
        before: (B, T) bool, the columns before the end of each part.
        column: (1, T) int32.
        trim: The trimming of offsets, or None.
    """
    sequence_ids = tf.fill(tf.shape(before[0]), -1)  # (B, T)
    cells = []  # for each part of a text: its spans, cells that it fills (B, T), index of their values, first column
    for part, begin, is_before in zip(parts, begins, before, strict=True):
        inside = (column >= begin[:, None]) & is_before  # (B, T)
        sequence_ids = tf.where(inside, part.sequence, sequence_ids)
        if part.spans is not None:
            place = tf.where(inside, column + (part.start - begin)[:, None], 0)  # (B, T)
            cells.append((part.spans, inside, place, begin))
    return {**_sources(cells, column, trim), "sequence_ids": sequence_ids}


def _sources(
    located: list[tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]], column: tf.Tensor, trim: Trim | None
) -> dict[str, tf.Tensor]:
    """Return the offsets and word ids of rows, from the spans of parts and the cells that they fill."""
    columns = located[0][0].shape[1]
    spans, count, entry, is_first = [tf.constant([NOWHERE[:columns]])], 1, 0, False
    for part_spans, inside, place, begin in located:
        entry = tf.where(inside, place + count, entry)  # (B, T)
        is_first |= inside & (column == begin[:, None]) if trim else False
        spans.append(part_spans)
        count += tf.shape(part_spans)[0]

    spans = tf.gather(tf.concat(spans, 0), entry)  # (B, T, K)
    offsets = spans[..., :2]
    return {"offsets": trim(offsets, spans[..., 3:], is_first) if trim else offsets, "word_ids": spans[..., 2]}
