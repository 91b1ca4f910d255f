"""Streams cut into runs of values of one class."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_transformers.text.graph.streams import shift

EDGE = 255  # what is beside the first and the last run of a piece


class Runs(NamedTuple):
    """R runs of code points of one class."""

    first: tf.Tensor  # (R,) int64, where each begins
    stop: tf.Tensor  # (R,) int64, where it ends
    kind: tf.Tensor  # (R,) its class
    before: tf.Tensor  # (R,) the class of the run before it; EDGE for the first of a piece
    after: tf.Tensor  # (R,) the class of the run behind it; EDGE for the last of a piece

    def spread(self, mask: tf.Tensor) -> tf.Tensor:
        """(R,) to (N,): what holds for a run holds for its code points."""
        return tf.repeat(mask, self.stop - self.first)


def runs_of(classes: tf.Tensor, starts: tf.Tensor) -> Runs:
    """Cut N code points, of `classes` (N,) int32 in pieces that begin at `starts` (N,) bool, into runs."""
    first = tf.where(starts | (classes != shift(classes, EDGE)))[:, 0]  # (R,)
    kind = tf.gather(classes, first)  # (R,)
    is_first = tf.gather(starts, first)
    return Runs(
        first,
        shift(first, tf.size(classes, tf.int64), by=-1),
        kind,
        tf.where(is_first, EDGE, shift(kind, EDGE)),
        tf.where(shift(is_first, True, by=-1), EDGE, shift(kind, EDGE, by=-1)),
    )
