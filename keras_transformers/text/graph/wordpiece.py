"""WordPiece as ops: words to ids."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.streams import keep, reachable, replace, row_starts, stream
from keras_transformers.text.graph.tables import TOKEN
from keras_transformers.text.graph.trie import Trie

FIRST, CONTINUATION = 0, 1  # the two vocabularies of the trie: what starts a word, what goes on ("##x")


class WordPiece(tf.Module):
    """Look up whole words; cut the distinct others, all at once, into the longest pieces from the left."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        vocabulary, prefix = config["vocab"], config["continuing_subword_prefix"]
        if config["unk_token"] not in vocabulary:
            raise ValueError(f"WordPiece: unk_token {config['unk_token']!r} is not in the vocabulary.")
        self.unk_id = vocabulary[config["unk_token"]]
        self.longest_word = config["max_input_chars_per_word"]
        words = {token: i for token, i in vocabulary.items() if 0 < len(token) <= self.longest_word}
        initializer = tf.lookup.KeyValueTensorInitializer(list(words), list(words.values()), tf.string, tf.int32)
        self.whole_words = tf.lookup.StaticHashTable(initializer, -1)
        pieces = {token.removeprefix(prefix): i for token, i in words.items() if token.startswith(prefix)}
        pieces.pop("", None)
        self.trie = Trie(words, pieces)

    def __call__(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """Words of code points (B, None, None) to ids (B, None) int32."""
        spelled = words.values
        text = tf.strings.unicode_encode(spelled, "UTF-8")
        first = tf.gather(spelled.values, spelled.row_splits[:-1])
        ids = tf.where(first >= TOKEN, first - TOKEN, self.whole_words.lookup(text))
        whole = stream(ids, words.row_splits)
        return tf.cond(tf.reduce_any(ids < 0), lambda: self._cut(whole, text), lambda: whole)

    def _cut(self, ids: tf.RaggedTensor, text: tf.Tensor) -> tf.RaggedTensor:
        """Put the pieces of its word in the place of each id < 0."""
        missed = tf.where(ids.values < 0)
        distinct, which = tf.unique(tf.gather_nd(text, missed))
        pieces = self._pieces(tf.strings.unicode_decode(distinct, "UTF-8"))
        splits = tf.cast(pieces.row_splits, tf.int32)
        start = tf.tensor_scatter_nd_update(tf.fill(tf.shape(ids.values), -1), missed, tf.gather(splits[:-1], which))
        lengths = tf.gather(splits[1:] - splits[:-1], which)
        length = tf.tensor_scatter_nd_update(tf.ones_like(ids.values), missed, lengths)
        return replace(ids, start, length, pieces.values)

    def _pieces(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """Words of code points (U, None) to their pieces (U, None); a word that cannot be cut is [UNK]."""
        too_long = words.row_lengths() > self.longest_word
        words = words[:, : self.longest_word]  # a longer word is [UNK], whatever its letters: spare the memory
        row, starts = words.value_rowids(), row_starts(words)
        position = tf.range(tf.size(row, tf.int64))
        vocabulary = tf.where(starts, tf.cast(FIRST, tf.int64), CONTINUATION)
        length, ids = self.trie.longest(words.values, position, tf.gather(words.row_splits[1:], row), vocabulary)
        # A walk that leaves its word arrives at the start of the next one, where another walk begins anyway.
        met = reachable(starts, tf.range(tf.size(row)) + length, self.longest_word)
        stuck = tf.math.unsorted_segment_max(tf.cast(met & (length == 0), tf.int32), row, words.nrows()) > 0
        unknown = tf.gather(too_long | stuck, row)
        pieces = words.with_values(tf.where(unknown, self.unk_id, ids))
        return keep(pieces, tf.where(unknown, starts, met))
