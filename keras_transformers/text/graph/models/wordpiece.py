"""WordPiece as ops: words to ids."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tokenizers

from keras_transformers.text.graph.models.trie import Trie
from keras_transformers.text.graph.models.whole_words import WholeWords
from keras_transformers.text.graph.streams.streams import Stream, join, reachable, row_starts
from keras_transformers.text.graph.streams.tracking import tracked_in_rows

FIRST, CONTINUATION = 0, 1  # the two vocabularies of the trie: pieces that start a word, or continue one ("##x")


class WordPiece(tf.Module):
    """The model WordPiece: words are cut into pieces from the left, each the longest that matches."""

    def __init__(self, pipeline: dict[str, Any], library: tokenizers.Tokenizer):
        super().__init__()
        config = pipeline["model"]
        vocabulary, prefix = config["vocab"], config["continuing_subword_prefix"]
        if config["unk_token"] not in vocabulary:
            raise ValueError(f"WordPiece: unk_token {config['unk_token']!r} is not in the vocabulary.")
        self.unk_id = vocabulary[config["unk_token"]]
        self.longest_word = min(config["max_input_chars_per_word"], tf.int32.max)
        words = {token: i for token, i in vocabulary.items() if 0 < len(token) <= self.longest_word}
        self.words = WholeWords(words, self._pieces)
        pieces = {token.removeprefix(prefix): i for token, i in vocabulary.items() if token.startswith(prefix)}
        pieces = {piece: i for piece, i in pieces.items() if 0 < len(piece) < self.longest_word}
        self.trie = Trie(words, pieces)

    def __call__(self, points: Stream, starts: tf.Tensor) -> Stream:
        return self.words(points, starts)

    def _pieces(self, text: tf.Tensor, is_tracked: bool) -> Stream:
        """Convert words (U,) string to the ids of their pieces (U, None); a word that cannot be cut is [UNK]."""
        words = tf.strings.unicode_decode(text, "UTF-8")  # (U, None), N letters
        length_of_word = words.row_lengths()  # (U,)
        too_long = length_of_word > self.longest_word  # (U,)
        words = words[:, : self.longest_word]  # a longer word is [UNK] anyway: this saves memory

        row, starts = words.value_rowids(), row_starts(words)  # (N,), (N,)
        position = tf.range(tf.size(row, tf.int64))  # (N,)
        vocabulary = tf.where(starts, tf.cast(FIRST, tf.int64), CONTINUATION)
        length, ids = self.trie.longest(words.values, position, tf.gather(words.row_splits[1:], row), vocabulary)

        # A walk that leaves its word arrives at the start of the next one, where another walk begins anyway.
        visited = reachable(starts, tf.range(tf.size(row)) + length, self.longest_word)  # (N,)
        stuck = tf.math.unsorted_segment_max(tf.cast(visited & (length == 0), tf.int32), row, words.nrows()) > 0  # (U,)
        unknown = tf.gather(too_long | stuck, row)  # (N,)

        pieces = words.with_values(tf.where(unknown, self.unk_id, ids))
        if is_tracked:
            pieces = tracked_in_rows(pieces)
            stops = tf.where(too_long, tf.cast(length_of_word, tf.int32), 0)  # (U,)
            pieces = pieces.with_stops(tf.maximum(pieces.spans[:, 1], tf.gather(stops, row)))
        return join(pieces, tf.where(unknown, starts, visited))
