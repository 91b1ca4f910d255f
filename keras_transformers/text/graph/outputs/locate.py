"""The positions of tokens in the typed text."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.outputs.trim import Trim
from keras_transformers.text.graph.streams.streams import Tracked
from keras_transformers.text.graph.streams.tracking import spanning


def locate(typed: Tracked, points: Tracked, starts: tf.Tensor, ids: Tracked, trim: Trim | None) -> Tracked:
    """Return the tokens, with spans (M, K) int32: start and stop in their text, their word, and what `trim` needs.

    Args:
        typed: The code points of B texts.
        points: N code points that the model read, tracked from the typed ones on.
        starts: (N,) bool, where their words begin.
        ids: M tokens, tracked from `points` on.
        trim: The trimming of the post-processors; None for none.
    """
    row = ids.value_rowids()  # (M,)
    first, stop = tf.unstack(ids.spans, axis=1)  # (M,), (M,)
    begin = tf.cast(tf.gather(typed.row_splits, row), tf.int32)  # (M,)
    spans = spanning(points, first, stop)[:, :2] - begin[:, None]  # (M, 2)

    number = tf.cumsum(tf.cast(starts, tf.int32))  # (N,)
    word = tf.gather(number, first) - tf.gather(number, tf.gather(points.row_splits, row))  # (M,)
    columns = [spans, word[:, None], *([trim.spaces(points, ids, first, stop)] if trim else [])]
    return Tracked(ids.points, tf.concat(columns, 1))
