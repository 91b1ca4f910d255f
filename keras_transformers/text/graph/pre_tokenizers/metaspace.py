"""The pre-tokeniser Metaspace as ops."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import TOKEN
from keras_transformers.text.graph.streams.streams import Stream, insert, row_starts


class Metaspace(tf.Module):
    """Replace spaces by "▁", put one before the text, and begin a word at each (SentencePiece)."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.mark = ord(config["replacement"])
        self.scheme, self.split = config["prepend_scheme"], config["split"]

    def __call__(self, points: Stream, starts: tf.Tensor, front: tf.Tensor | None = None) -> tuple[Stream, tf.Tensor]:
        """`front` (N,) bool: code points that each text's first character became; None if it is still the first one."""
        points = points.with_values(tf.where(points.values == ord(" "), self.mark, points.values))
        if self.scheme != "never":
            first = row_starts(points) if front is None else starts & front
            at = first if self.scheme == "first" else starts
            lacks_mark = at & (points.values != self.mark) & (points.values < TOKEN)
            points, starts = insert(points, starts, lacks_mark, self.mark)
        return points, starts | (points.values == self.mark) if self.split else starts
