"""Words looked up as a whole, and the distinct other words spelled, all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tokenizers

from keras_transformers.text.graph.pre_tokenizers.split_words import words
from keras_transformers.text.graph.streams.code_points import TOKEN
from keras_transformers.text.graph.streams.lookup_tables import lookup_table
from keras_transformers.text.graph.streams.streams import Stream, Tracked, replace, stream


class WholeWords(tf.Module):
    """Ops from words to ids, for any model that encodes one word at a time.

    Args:
        known: Word to id, as str or UTF-8 bytes.
        spell: Function that converts words (U,) string to their ids (U, None) int32; called with the words that are not
            `known`, and with whether to track the code points of each word.
    """

    def __init__(self, known: dict[str, int] | dict[bytes, int], spell: Callable[[tf.Tensor, bool], Stream]):
        super().__init__()
        known = known or {b"": -1}  # a table cannot be empty
        self.known = lookup_table(list(known), list(known.values()), tf.string, tf.int32, -1)
        self.spell = spell

    def __call__(self, points: Stream, starts: tf.Tensor) -> Stream:
        """Convert code points (B, None), whose words begin at `starts`, to ids (B, None) int32.

        If the code points are tracked, the spans of the ids are ranges of code points.
        """
        split = words(points, starts)  # (B, None, None)
        spelled = split.values  # (W, None)
        text = tf.strings.unicode_encode(spelled, "UTF-8")  # (W,)
        first = tf.gather(spelled.values, spelled.row_splits[:-1])  # (W,)
        ids = tf.where(first >= TOKEN, first - TOKEN, self.known.lookup(text))
        whole = stream(ids, split.row_splits)
        if isinstance(points, Tracked):
            splits = tf.cast(spelled.row_splits, tf.int32)  # (W + 1,)
            whole = Tracked(whole, tf.stack([splits[:-1], splits[1:]], 1))
        return tf.cond(tf.reduce_any(whole.values < 0), lambda: self._spell_others(whole, text), lambda: whole)

    def _spell_others(self, ids: Stream, text: tf.Tensor) -> Stream:
        """Replace each id < 0 by the ids that spell its word."""
        missed = tf.where(ids.values < 0)  # (M, 1)
        distinct, spelling = tf.unique(tf.gather_nd(text, missed))  # (U,), (M,)
        pieces = self.spell(distinct, isinstance(ids, Tracked))  # (U, None)
        splits = tf.cast(pieces.row_splits, tf.int32)  # (U + 1,)

        start = tf.tensor_scatter_nd_update(tf.fill(tf.shape(ids.values), -1), missed, tf.gather(splits[:-1], spelling))
        lengths = tf.gather(splits[1:] - splits[:-1], spelling)  # (M,)
        length = tf.tensor_scatter_nd_update(tf.ones_like(ids.values), missed, lengths)  # (W,)
        return replace(ids, start, length, pieces if isinstance(pieces, Tracked) else pieces.values)


class WordLevel(tf.Module):
    """The model WordLevel, which has only whole words (or single characters). Others become the unknown token.

    Without an unknown token the library raises an error. Here the word is dropped, so that one row does not fail a
    batch.
    """

    def __init__(self, pipeline: dict[str, Any], library: tokenizers.Tokenizer):
        super().__init__()
        vocabulary = pipeline["model"]["vocab"]
        self.unknown = [vocabulary[token] for token in [pipeline["model"]["unk_token"]] if token in vocabulary]
        self.words = WholeWords(vocabulary, self._spell)

    def __call__(self, points: Stream, starts: tf.Tensor) -> Stream:
        return self.words(points, starts)

    def _spell(self, others: tf.Tensor, is_tracked: bool) -> tf.RaggedTensor:
        """Return the unknown token for each other word; its span is the whole word, so nothing is tracked inside."""
        count = len(self.unknown)
        splits = count * tf.range(tf.size(others, tf.int64) + 1)
        return stream(tf.repeat(tf.constant(self.unknown, tf.int32), count * tf.size(others)), splits)
