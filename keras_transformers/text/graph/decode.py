"""Decoders as ops: ids to text."""

from __future__ import annotations

import tensorflow as tf
import tokenizers


class WordPieceDecoder(tf.Module):
    """Join tokens into text as the library does with `skip_special_tokens=True`.

    The decoder looks at one token at a time, and only asks whether it is the first: two strings for each token,
    asked of the library itself, say all of it, the clean-up of spaces before punctuation included.
    """

    def __init__(self, library: tokenizers.Tokenizer):
        super().__init__()
        special = {i for i, token in library.get_added_tokens_decoder().items() if token.special}
        tokens = {i: token for token, i in library.get_vocab().items() if i not in special}
        decode = library.decoder.decode
        size = max(library.get_vocab().values()) + 1
        self.is_text = tf.constant([i in tokens for i in range(size)])
        self.first = tf.constant([decode([tokens[i]]) if i in tokens else "" for i in range(size)])
        self.later = tf.constant([decode(["", tokens[i]]) if i in tokens else "" for i in range(size)])

    def __call__(self, ids: tf.Tensor) -> tf.Tensor:
        """Ids (B, T) int32 to text (B,); special tokens, and ids outside the vocabulary, are left out."""
        size = tf.size(self.first)
        known = tf.where((ids >= 0) & (ids < size), ids, size)
        is_text = tf.gather(tf.concat([self.is_text, [False]], 0), known)
        known = tf.where(is_text, known, size)
        is_first = tf.cumsum(tf.cast(is_text, tf.int32), 1) == 1
        first, later = (tf.gather(tf.concat([pieces, [""]], 0), known) for pieces in (self.first, self.later))
        return tf.strings.reduce_join(tf.where(is_first, first, later), 1)
