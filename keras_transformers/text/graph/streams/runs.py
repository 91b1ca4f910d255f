"""Runs of values of one class in streams."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_transformers.text.graph.streams.streams import shift

EDGE = 255  # the class before the first run of a piece, and after the last


class Runs(NamedTuple):
    """R runs of code points of one class."""

    first: tf.Tensor  # (R,) int64, where each run begins
    stop: tf.Tensor  # (R,) int64, where each run ends (exclusive)
    kind: tf.Tensor  # (R,) the class of each run
    before: tf.Tensor  # (R,) the class of the run before it; EDGE for the first of a piece
    after: tf.Tensor  # (R,) the class of the run after it; EDGE for the last of a piece

    def spread(self, mask: tf.Tensor) -> tf.Tensor:
        """Spread values of runs (R,) to their code points (N,)."""
        return tf.repeat(mask, self.stop - self.first)


def runs_of(classes: tf.Tensor, starts: tf.Tensor) -> Runs:
    """Cut N code points, of `classes` (N,) int32 in pieces that begin at `starts` (N,) bool, into runs."""
    first = tf.where(starts | (classes != shift(classes, EDGE)))[:, 0]  # (R,)
    kind = tf.gather(classes, first)  # (R,)
    is_first = tf.gather(starts, first)  # (R,)
    return Runs(
        first,
        shift(first, tf.size(classes, tf.int64), by=-1),
        kind,
        tf.where(is_first, EDGE, shift(kind, EDGE)),
        tf.where(shift(is_first, True, by=-1), EDGE, shift(kind, EDGE, by=-1)),
    )


def run_lengths(mask: tf.Tensor, starts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Count the successive values that are True up to each place, and from each place on, (N,) int64 each.

    Args:
        mask: (N,) bool.
        starts: (N,) bool, where pieces begin: runs end there.
    """
    runs = runs_of(tf.cast(mask, tf.int32), starts)
    place = tf.range(tf.size(mask, tf.int64))
    up_to, from_here = place + 1 - runs.spread(runs.first), runs.spread(runs.stop) - place  # (N,), (N,)
    return tf.where(mask, up_to, 0), tf.where(mask, from_here, 0)
