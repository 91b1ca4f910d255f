"""Letters that a vocabulary lacks, as ops: they become bytes or the unknown token, or are dropped."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.streams.streams import Stream, Tracked, join, keep, replace, row_starts, shift

MISSING = -1


class Missing(tf.Module):
    """Ops that give ids to letters without one.

    Args:
        byte_ids: 256 ids, to spell such letters in bytes; else None.
        unknown: Id of the unknown token; None to drop such letters.
        fuse: Whether a run of unknown letters is one token; if they are spelled in bytes, each has the span of the run.
    """

    def __init__(self, byte_ids: list[int] | None, unknown: int | None, fuse: bool):
        super().__init__()
        self.bytes = None if byte_ids is None else tf.constant(byte_ids)
        self.unknown, self.fuse = unknown, fuse

    def __call__(self, words: Stream, letters: tf.Tensor) -> Stream:
        """Replace the ids that are MISSING in (U, None) int32; `letters` (N,) int32 are their code points."""
        missing = words.values == MISSING
        return tf.cond(tf.reduce_any(missing), lambda: self._filled(words, letters, missing), lambda: words)

    def _filled(self, words: Stream, letters: tf.Tensor, missing: tf.Tensor) -> Stream:
        if self.bytes is not None:
            spelled = tf.strings.unicode_encode(tf.boolean_mask(letters, missing)[:, None], "UTF-8")  # (M,)
            spelled = tf.strings.unicode_decode(spelled, "ISO-8859-1")  # its code points are the bytes
            at, splits = tf.where(missing), tf.cast(spelled.row_splits, tf.int32)
            start = tf.tensor_scatter_nd_update(tf.fill(tf.shape(letters), -1), at, splits[:-1])  # (N,)
            length = tf.tensor_scatter_nd_update(tf.ones_like(letters), at, splits[1:] - splits[:-1])  # (N,)
            words = _widened(words, missing) if self.fuse and isinstance(words, Tracked) else words
            return replace(words, start, length, tf.gather(self.bytes, spelled.values))
        if self.unknown is None:
            return keep(words, ~missing)
        words = words.with_values(tf.where(missing, self.unknown, words.values))
        return join(words, _first_of_run(words, missing)) if self.fuse else words


def _first_of_run(words: Stream, missing: tf.Tensor) -> tf.Tensor:
    """Mark all letters except missing ones that follow a missing one in their word, (N,) bool."""
    return ~(missing & shift(missing, False) & ~row_starts(words))


def _widened(words: Tracked, missing: tf.Tensor) -> Tracked:
    """Give each missing letter the span of its run."""
    first = _first_of_run(words, missing)
    runs = tf.gather(join(words, first).spans, tf.cumsum(tf.cast(first, tf.int32)) - 1)  # (N, 2)
    return Tracked(words.points, runs)


def byte_ids(vocabulary: dict[str, int]) -> list[int]:
    """Return ids of <0x00> to <0xFF>; MISSING for those that the vocabulary lacks."""
    return [vocabulary.get(f"<0x{byte:02X}>", MISSING) for byte in range(256)]
