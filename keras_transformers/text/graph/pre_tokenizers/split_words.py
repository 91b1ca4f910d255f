"""Pre-tokenisers as ops, which mark where the words of a text begin.

Each takes a stream of code points and a mask of where pieces begin so far, and returns both. It may begin more words,
and drop or insert code points.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import PointTable, shipped
from keras_transformers.text.graph.streams.probe import PUNCTUATION, WHITE, WORD
from keras_transformers.text.graph.streams.streams import Stream, keep, offsets, shift, stream
from keras_transformers.text.graph.streams.tracking import start_of
from keras_transformers.text.pipelines.components import refuse

Pieces = tuple[Stream, tf.Tensor]


def words(points: Stream, starts: tf.Tensor) -> tf.RaggedTensor:
    """Split code points (B, None) into words, which begin at `starts`: (B, None, None)."""
    word_starts = tf.where(starts)[:, 0]  # (W,)
    spelled = stream(points.values, tf.concat([word_starts, [tf.size(points.values, tf.int64)]], 0))  # (W, None)
    return stream(spelled, tf.gather(offsets(tf.cast(starts, tf.int64)), points.row_splits))


class BertPreTokenizer(tf.Module):
    """BERT's pre-tokeniser: splits at whitespace, which is dropped, and around punctuation marks and added tokens."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.classes = PointTable(shipped()["split"], token=PUNCTUATION)

    def __call__(self, points: Stream, starts: tf.Tensor) -> Pieces:
        classes = self.classes(points.values)  # (N,)
        kept = classes != WHITE  # (N,)
        starts |= (classes == PUNCTUATION) | ~shift(classes == WORD, False)
        return keep(points, kept), tf.boolean_mask(starts, kept)


class WhitespaceSplit(tf.Module):
    """The pre-tokeniser WhitespaceSplit: splits at whitespace, which is dropped."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.is_white = PointTable(shipped()["split"] == WHITE)

    def __call__(self, points: Stream, starts: tf.Tensor) -> Pieces:
        is_white = self.is_white(points.values) > 0  # (N,)
        return keep(points, ~is_white), tf.boolean_mask(starts | shift(is_white, False), ~is_white)


class Digits(tf.Module):
    """The pre-tokeniser Digits: splits digits from other characters, each digit by itself or runs of them."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.numeric = PointTable(shipped()["numeric"])
        self.individual = config["individual_digits"]

    def __call__(self, points: Stream, starts: tf.Tensor) -> Pieces:
        is_digit = self.numeric(points.values) > 0  # (N,)
        after_digit = shift(is_digit, False)
        return points, starts | (is_digit | after_digit if self.individual else is_digit != after_digit)


class FixedLength(tf.Module):
    """The pre-tokeniser FixedLength: splits into pieces of as many characters, such as k-mers of DNA."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.length = config["length"]
        if not 0 < self.length <= tf.int32.max:
            raise refuse("pre_tokenizer", f"FixedLength {self.length}", ["a length of 1 or more"])

    def __call__(self, points: Stream, starts: tf.Tensor) -> Pieces:
        place = tf.range(tf.size(starts, tf.int64))
        return points, (place - start_of(starts)) % self.length == 0
