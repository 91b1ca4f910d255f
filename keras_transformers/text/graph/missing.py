"""Letters that a vocabulary lacks, as ops: they become bytes or the unknown token, or are dropped."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.streams import keep, replace, row_starts, shift

MISSING = -1


class Missing(tf.Module):
    """Give ids to letters without one.

    Args:
        byte_ids: 256 ids, to spell such letters in bytes; else None.
        unknown: id of the unknown token; None to drop such letters.
        fuse: make a run of unknown letters one token.
    """

    def __init__(self, byte_ids: list[int] | None, unknown: int | None, fuse: bool):
        super().__init__()
        self.bytes = None if byte_ids is None else tf.constant(byte_ids)
        self.unknown, self.fuse = unknown, fuse

    def __call__(self, words: tf.RaggedTensor, letters: tf.Tensor) -> tf.RaggedTensor:
        """Ids (U, None) int32 to ids (U, None); `letters` (N,) int32 are the code points where they are MISSING."""
        missing = words.values == MISSING
        return tf.cond(tf.reduce_any(missing), lambda: self._filled(words, letters, missing), lambda: words)

    def _filled(self, words: tf.RaggedTensor, letters: tf.Tensor, missing: tf.Tensor) -> tf.RaggedTensor:
        if self.bytes is not None:
            spelled = tf.strings.unicode_encode(tf.boolean_mask(letters, missing)[:, None], "UTF-8")  # (M,)
            spelled = tf.strings.unicode_decode(spelled, "ISO-8859-1")  # its code points are the bytes
            at, splits = tf.where(missing), tf.cast(spelled.row_splits, tf.int32)
            start = tf.tensor_scatter_nd_update(tf.fill(tf.shape(letters), -1), at, splits[:-1])  # (N,)
            length = tf.tensor_scatter_nd_update(tf.ones_like(letters), at, splits[1:] - splits[:-1])  # (N,)
            return replace(words, start, length, tf.gather(self.bytes, spelled.values))
        if self.unknown is None:
            return keep(words, ~missing)
        words = words.with_values(tf.where(missing, self.unknown, words.values))
        return keep(words, ~(missing & shift(missing, False) & ~row_starts(words))) if self.fuse else words


def byte_ids(vocabulary: dict[str, int]) -> list[int]:
    """Ids of <0x00> to <0xFF>; MISSING for those that the vocabulary lacks."""
    return [vocabulary.get(f"<0x{byte:02X}>", MISSING) for byte in range(256)]
