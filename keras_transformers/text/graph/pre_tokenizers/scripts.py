"""The pre-tokeniser UnicodeScripts as ops."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import PointTable, shipped
from keras_transformers.text.graph.streams.streams import Stream, keep, shift
from keras_transformers.text.graph.streams.tracking import start_of

TOKEN_SCRIPT = 255  # of added tokens: no script has this number
NO_SCRIPT = 0  # spaces go with the script before them


class UnicodeScripts(tf.Module):
    """The pre-tokeniser UnicodeScripts: a piece begins where the script changes, Kana and Han being one.

    Spaces at the beginning of a piece are dropped, as in the library.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.scripts = PointTable(shipped()["script"], token=TOKEN_SCRIPT)

    def __call__(self, points: Stream, starts: tf.Tensor) -> tuple[Stream, tf.Tensor]:
        script = self.scripts(points.values)  # (N,)
        at = tf.where(script != NO_SCRIPT)  # (M, 1)
        script, piece = (tf.gather(values, at[:, 0]) for values in (script, tf.cumsum(tf.cast(starts, tf.int32))))
        changes = (script != shift(script, NO_SCRIPT)) | (piece != shift(piece, 0))  # (M,)
        begins = tf.tensor_scatter_nd_update(tf.zeros_like(starts), at, changes)  # (N,)
        kept = tf.gather(begins, start_of(starts | begins))  # (N,)
        return keep(points, kept), tf.boolean_mask(begins, kept)
