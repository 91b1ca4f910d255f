"""Pre-tokenisers as ops: code points to words."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.graph.probe import PUNCTUATION, WHITE, WORD
from keras_transformers.text.graph.streams import offsets, row_starts, stream
from keras_transformers.text.graph.tables import PointTable, shipped


class BertPreTokenizer(tf.Module):
    """Split at white space, which goes, and around each punctuation mark (and added token), which is a word."""

    def __init__(self, config: dict | None = None):
        super().__init__()
        self.classes = PointTable(shipped()["split"], token=PUNCTUATION)

    def __call__(self, points: tf.RaggedTensor) -> tf.RaggedTensor:
        """Code points (B, None) to words of code points (B, None, None)."""
        classes = self.classes(points.values)
        after_word = tf.concat([[False], (classes == WORD)[:-1]], 0) & ~row_starts(points)
        kept = classes != WHITE
        starts = kept & ((classes == PUNCTUATION) | ~after_word)
        values = tf.boolean_mask(points.values, kept)
        word_starts = tf.where(tf.boolean_mask(starts, kept))[:, 0]
        words = stream(values, tf.concat([word_starts, [tf.size(values, tf.int64)]], 0))
        return stream(words, tf.gather(offsets(tf.cast(starts, tf.int64)), points.row_splits))
