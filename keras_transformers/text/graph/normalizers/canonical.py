"""Unicode's normal forms as ops: NFD, NFC, NFKD and NFKC."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.normalizers.normalize import decompose
from keras_transformers.text.graph.streams.code_points import Mapping, PointTable, Replacer, shipped
from keras_transformers.text.graph.streams.lookup_tables import lookup_table
from keras_transformers.text.graph.streams.streams import Stream, Tracked, keep, row_starts, shift, stream
from keras_transformers.text.graph.streams.tracking import leads, tracked, walk

POINTS = 1 << 21  # more than there are code points and added tokens


class Decompose(tf.Module):
    """The normaliser NFD: letters are split from their marks, and the marks put in canonical order.

    NFKD also replaces compatibility characters ("ﬁ", "²") by their plain forms.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.compatible = config["type"] in ("NFKC", "NFKD")
        mapping = Mapping.shipped("decompose")
        self.decompose = Replacer(mapping.then(Mapping.shipped("compatible")) if self.compatible else mapping)
        self.combining = PointTable(shipped()["combining"])

    def __call__(self, points: Stream) -> Stream:
        return decompose(points, self.decompose, self.combining)


class Compose(Decompose):
    """The normalisers NFC and NFKC: text is decomposed, then each letter composed with the marks after it.

    In each round every letter takes the first mark that it can. The second part of a composite is the last of its
    decomposition, so a mark that was passed over never fits later. So the rounds give the same result as one pass from
    the left.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        pairs = _pairs()
        keys = [letter * POINTS + mark for letter, mark in pairs]
        self.composites = lookup_table(keys, list(pairs.values()), tf.int64, tf.int32, -1)
        changes = shipped()["combining"] > 0
        changes[shipped()["decompose_keys"]] = True
        changes &= shipped()["composite"] == 0
        if self.compatible:
            changes[shipped()["compatible_keys"]] = True
        changes[[mark for _, mark in pairs]] = True
        self.changes = PointTable(changes)

    def __call__(self, points: Stream) -> Stream:
        is_composed = tf.reduce_all(self.changes(points.values) == 0)
        return tf.cond(is_composed, lambda: points, lambda: self._composed(points))

    def _composed(self, points: Stream) -> Stream:
        if not isinstance(points, Tracked):
            return self._compose(super().__call__(points))[0]
        parts = super().__call__(tracked(points.points))
        composed, consumed = self._compose(parts.points, tf.cast(leads(parts), tf.int32))
        begin = tf.cast(tf.gather(points.row_splits, composed.value_rowids()), tf.int32)  # (M,)
        return Tracked(composed, tf.gather(points.spans, walk(consumed, row_starts(composed), begin)))

    def _compose(self, points: tf.RaggedTensor, *consumed: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Return the composed stream, and how many earlier values each value consumes, (N,): a composite, as many as
        its parts.
        """

        def step(values: tf.Tensor, row_splits: tf.Tensor, more: tf.Tensor, *consumed: tf.Tensor) -> tuple:
            letter, composite = self._matches(stream(values, row_splits))  # (N,), (N,)
            fits = composite >= 0
            place = tf.range(tf.size(values))  # (N,)
            first = tf.math.unsorted_segment_min(tf.where(fits, place, tf.int32.max), letter, tf.size(values))  # (N,)

            # A letter that the letter before it may take waits for the next round.
            taken = fits & (place == tf.gather(first, letter)) & ~tf.gather(fits, letter)  # (N,)

            at = tf.boolean_mask(letter, taken)[:, None]  # (M, 1)
            values = tf.tensor_scatter_nd_update(values, at, tf.boolean_mask(composite, taken))
            points = keep(stream(values, row_splits), ~taken)  # N - M values
            sums = (tf.tensor_scatter_nd_add(x, at, tf.boolean_mask(x, taken)) for x in consumed)
            masked = (tf.boolean_mask(x, ~taken) for x in sums)
            return points.values, points.row_splits, tf.reduce_any(taken), *masked

        size = tf.TensorShape([None])
        shapes = (size, points.row_splits.shape, tf.TensorShape([]), *(size for _ in consumed))
        state = (points.values, points.row_splits, tf.constant(True), *consumed)
        values, row_splits, _, *consumed = tf.while_loop(lambda _, __, more, *___: more, step, state, shapes)
        return stream(values, row_splits), *consumed

    def _matches(self, points: Stream) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the place of the letter before each code point, (N,), and the composite of the two or -1, (N,)."""
        values, starts = points.values, row_starts(points)
        rank = self.combining(values)  # (N,)
        is_letter = (rank == 0) | starts
        letters_before = tf.cumsum(tf.cast(is_letter, tf.int32), exclusive=True)  # (N,)
        letters = tf.cast(tf.where(is_letter)[:, 0], tf.int32)  # (L,)
        letter = tf.gather(letters, tf.maximum(letters_before - 1, 0))  # (N,)

        # A mark after another of the same or a higher class is blocked from the letter.
        is_free = ~starts & (shift(is_letter, False) | (shift(rank, 0) < rank))  # (N,)
        keys = tf.cast(tf.gather(values, letter), tf.int64) * POINTS + tf.cast(values, tf.int64)
        return letter, self.composites.lookup(tf.where(is_free, keys, -1))


def _pairs() -> dict[tuple[int, int], int]:
    """Return a dict of (letter, mark) to their composite code point."""
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
