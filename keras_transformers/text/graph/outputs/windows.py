"""Windows of pairs of texts as ops: overlapping parts of the second text, each with the whole first one."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.outputs.post_process import Template
from keras_transformers.text.graph.streams.streams import Stream


def lay_out_windows(
    template: Template, first: Stream, second: Stream, max_length: int, stride: int, pad_id: int, most: int | None
) -> dict[str, tf.Tensor]:
    """Implement `TextGraph.encode_windows`, for ids (B, None)."""
    room = template.room(2, max_length)
    if not 0 <= stride < room:
        raise ValueError(
            f"stride={stride} with max_length={max_length} and {max_length - room} special tokens: "
            f"expected 0 <= stride < {room}, or the windows would not advance."
        )

    length_a, length_b = (tf.cast(ids.row_lengths(), tf.int32) for ids in (first, second))  # (B,) each
    most, cut_to = (room - stride - 1, (room - stride) // 2) if most is None else (most, most)
    kept = _kept(length_a, length_b, room, most, cut_to)  # (B,) of the first text
    width = room - kept  # (B,) of the part of the second
    step = tf.maximum(width - stride, 1)  # (B,)
    count = 1 + -(-tf.maximum(length_b - width, 0) // step)  # (B,) windows

    row = tf.repeat(tf.range(tf.size(count)), count)  # (W,)
    nth = tf.range(tf.size(row)) - tf.gather(tf.cumsum(count, exclusive=True), row)  # (W,)
    passed = nth * tf.gather(step, row)  # (W,)
    length = tf.minimum(tf.gather(width, row), tf.gather(length_b, row) - passed)  # (W,)
    cut, begin = tf.zeros_like(kept), passed  # (B,), (W,): where in the texts the parts begin
    if template.keeps_end:
        cut, begin = length_a - kept, tf.gather(length_b, row) - passed - length
    starts = [tf.gather(tf.cast(ids.row_splits, tf.int32), row) for ids in (first, second)]  # (W,) each

    texts = [(first, starts[0] + tf.gather(cut, row), tf.gather(kept, row)), (second, starts[1] + begin, length)]
    return {**template.fill(texts, pad_id), "row": row, "truncated": kept < length_a}


def _kept(first: tf.Tensor, second: tf.Tensor, room: int, most: int, cut_to: int) -> tf.Tensor:
    """Return how many tokens of the first text to keep, (B,): all, if they are few or fit in one window."""
    fits = (first + second <= room) | (first <= most)
    return tf.where(fits, first, tf.maximum(cut_to, room - second))
