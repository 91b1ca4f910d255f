"""The pre-tokeniser Metaspace as ops."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import TOKEN
from keras_transformers.text.graph.streams.streams import Stream, insert, row_starts


class Metaspace(tf.Module):
    """The pre-tokeniser Metaspace: spaces become "▁", one is put before the text, and a word begins at each."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.mark = ord(config["replacement"])
        self.scheme, self.split = config["prepend_scheme"], config["split"]

    def __call__(self, points: Stream, starts: tf.Tensor, front: tf.Tensor | None = None) -> tuple[Stream, tf.Tensor]:
        """Replace spaces and begin words; `front` (N,) bool marks the code points of the first characters, or None if
        they are still in the first places.
        """
        points = points.with_values(tf.where(points.values == ord(" "), self.mark, points.values))
        if self.scheme != "never":
            first = row_starts(points) if front is None else starts & front
            at = first if self.scheme == "first" else starts
            lacks_mark = at & (points.values != self.mark) & (points.values < TOKEN)
            points, starts = insert(points, starts, lacks_mark, self.mark)
        return points, starts | (points.values == self.mark) if self.split else starts
