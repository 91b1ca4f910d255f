"""Byte-pair merges as ops, for many words at once."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.streams import shift, stream

NEVER = tf.int32.max  # the rank of a pair that does not merge


class Merges(tf.Module):
    """Merge in every word the pair of the lowest rank, the leftmost first, until no pair is left that merges.

    The words lie end to end, unpadded, and keep step: a long word costs no more than its letters.

    Args:
        pairs: (R, 2) int64 ids of what merges, by rank.
        products: (R,) int64 ids of what it becomes.
        num_ids: more than the largest id.
    """

    def __init__(self, pairs: np.ndarray, products: np.ndarray, num_ids: int):
        super().__init__()
        self.num_ids = num_ids
        # Of a pair that is listed twice, the later counts in the library, too.
        ranks = dict(zip((pairs @ [num_ids, 1]).tolist(), range(len(pairs)), strict=True))
        ranks = ranks or {-2: NEVER}  # a table cannot be empty
        initializer = tf.lookup.KeyValueTensorInitializer(list(ranks), list(ranks.values()), tf.int64, tf.int32)
        self.rank = tf.lookup.StaticHashTable(initializer, NEVER)
        self.products = tf.constant(np.append(products, 0), tf.int32)
        self.thin = _every_other if _parts_come_first(pairs, products, num_ids) else _first_of_word

    def __call__(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """Symbols (U, None) int32 to symbols (U, None)."""

        def step(ids: tf.Tensor, row: tf.Tensor, rank: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            lowest = tf.gather(tf.math.segment_min(rank, row), row)
            merged = self.thin((rank == lowest) & (rank < NEVER), row)
            ids = tf.where(merged, tf.gather(self.products, tf.where(merged, rank, 0)), ids)
            kept = tf.where(~shift(merged, False))[:, 0]
            ids, row = tf.gather(ids, kept), tf.gather(row, kept)
            return ids, row, self._ranks(ids, row)

        row = words.value_rowids()
        state = (words.values, row, self._ranks(words.values, row))
        ids, row, _ = tf.while_loop(
            lambda ids, row, rank: tf.reduce_min(rank) < NEVER, step, state, (tf.TensorShape([None]),) * 3
        )
        return stream(ids, tf.searchsorted(row, tf.range(words.nrows() + 1), out_type=tf.int64))

    def _ranks(self, ids: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
        """(M,) the rank of each symbol with the one behind it."""
        keys = tf.cast(ids, tf.int64) * self.num_ids + tf.cast(shift(ids, 0, by=-1), tf.int64)
        return self.rank.lookup(tf.where(row == shift(row, -1, by=-1), keys, -1))


def _parts_come_first(pairs: np.ndarray, products: np.ndarray, num_ids: int) -> bool:
    """Whether no product merges further at a lower rank than it is made at: then equal pairs may merge all at once."""
    ranks = np.arange(len(pairs))
    made = np.full(num_ids, -1)
    np.maximum.at(made, products, ranks)
    return bool((ranks > made[pairs].max(1)).all())


def _every_other(hits: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
    """Of pairs that overlap, "aaaa", the first, the third ..."""

    def thinned() -> tf.Tensor:
        begins = hits & ~shift(hits, False)
        position = tf.range(tf.size(hits, tf.int64))
        run = tf.maximum(tf.cumsum(tf.cast(begins, tf.int64)) - 1, 0)
        return hits & ((position - tf.gather(tf.where(begins)[:, 0], run)) % 2 == 0)

    return tf.cond(tf.reduce_any(hits & shift(hits, False)), thinned, lambda: hits)


def _first_of_word(hits: tf.Tensor, row: tf.Tensor) -> tf.Tensor:
    position = tf.range(tf.size(hits, tf.int64))
    first = tf.math.segment_min(tf.where(hits, position, tf.int64.max), row)
    return position == tf.gather(first, row)
