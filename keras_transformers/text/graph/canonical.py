"""Unicode's normal forms as ops: NFD, NFC, NFKD and NFKC."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.normalize import reorder
from keras_transformers.text.graph.streams import keep, row_starts, shift, stream
from keras_transformers.text.graph.tables import Mapping, PointTable, Replacer, shipped

POINTS = 1 << 21  # more than there are code points and added tokens


class Decompose(tf.Module):
    """NFD: split letters from their marks, and put the marks in canonical order.

    NFKD: also replace compatibility characters ("ﬁ", "²") by their plain forms.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.compatible = config["type"] in ("NFKC", "NFKD")
        mapping = Mapping.shipped("decompose")
        self.decompose = Replacer(mapping.then(Mapping.shipped("compatible")) if self.compatible else mapping)
        self.combining = PointTable(shipped()["combining"])

    def __call__(self, points: tf.RaggedTensor) -> tf.RaggedTensor:
        points = self.decompose(points)
        return reorder(points, self.combining(points.values))


class Compose(Decompose):
    """NFC, NFKC: decompose, then compose each letter with the marks after it.

    In each round every letter takes up the first mark that it can. The second part of a composite is the last of its
    decomposition, so a mark that was passed over never fits later. So the rounds give the same as one pass from the
    left.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        pairs = _pairs()
        keys = [letter * POINTS + mark for letter, mark in pairs]
        initializer = tf.lookup.KeyValueTensorInitializer(keys, list(pairs.values()), tf.int64, tf.int32)
        self.composites = tf.lookup.StaticHashTable(initializer, -1)
        changes = shipped()["combining"] > 0
        changes[shipped()["decompose_keys"]] = True
        changes &= shipped()["composite"] == 0
        if self.compatible:
            changes[shipped()["compatible_keys"]] = True
        changes[[mark for _, mark in pairs]] = True
        self.changes = PointTable(changes)

    def __call__(self, points: tf.RaggedTensor) -> tf.RaggedTensor:
        is_composed = tf.reduce_all(self.changes(points.values) == 0)
        return tf.cond(is_composed, lambda: points, lambda: self._compose(super(Compose, self).__call__(points)))

    def _compose(self, points: tf.RaggedTensor) -> tf.RaggedTensor:
        def step(values: tf.Tensor, row_splits: tf.Tensor, more: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            letter, composite = self._matches(stream(values, row_splits))  # (N,), (N,)
            fits = composite >= 0
            place = tf.range(tf.size(values))  # (N,)
            first = tf.math.unsorted_segment_min(tf.where(fits, place, tf.int32.max), letter, tf.size(values))  # (N,)

            # A letter that the letter before it may take up waits for the next round.
            taken = fits & (place == tf.gather(first, letter)) & ~tf.gather(fits, letter)  # (N,)

            at = tf.boolean_mask(letter, taken)[:, None]  # (M, 1)
            values = tf.tensor_scatter_nd_update(values, at, tf.boolean_mask(composite, taken))
            points = keep(stream(values, row_splits), ~taken)  # N - M values
            return points.values, points.row_splits, tf.reduce_any(taken)

        shapes = (tf.TensorShape([None]), points.row_splits.shape, tf.TensorShape([]))
        state = (points.values, points.row_splits, tf.constant(True))
        return stream(*tf.while_loop(lambda values, row_splits, more: more, step, state, shapes)[:2])

    def _matches(self, points: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
        """(N,) the place of the letter before each code point; (N,) what the two compose to, -1 for nothing."""
        values, starts = points.values, row_starts(points)
        rank = self.combining(values)  # (N,)
        is_letter = (rank == 0) | starts
        letters_before = tf.cumsum(tf.cast(is_letter, tf.int32), exclusive=True)  # (N,)
        letters = tf.cast(tf.where(is_letter)[:, 0], tf.int32)  # (L,)
        letter = tf.gather(letters, tf.maximum(letters_before - 1, 0))  # (N,)

        # A mark after one of its own or of a higher class is blocked from the letter.
        is_free = ~starts & (shift(is_letter, False) | (shift(rank, 0) < rank))  # (N,)
        keys = tf.cast(tf.gather(values, letter), tf.int64) * POINTS + tf.cast(values, tf.int64)
        return letter, self.composites.lookup(tf.where(is_free, keys, -1))


def _pairs() -> dict[tuple[int, int], int]:
    """(letter, mark) to the code point that they compose to."""
    mapping, composite = Mapping.shipped("decompose"), shipped()["composite"]
    spelled = {
        tuple(mapping.values[mapping.starts[point] : mapping.starts[point] + mapping.lengths[point]].tolist()): point
        for point in np.flatnonzero(composite).tolist()
    }
    pairs = {}
    for text, point in spelled.items():
        first = text[0] if len(text) == 2 else spelled[text[:-1]]
        pairs[first, text[-1]] = point
    return pairs
