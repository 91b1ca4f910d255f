"""The spaces at the ends of tokens, which the post-processors ByteLevel and Roberta leave out of offsets, as ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import tokenizers

from keras_transformers.text.graph.streams.code_points import TOKEN, PointTable, shipped
from keras_transformers.text.graph.streams.probe import BLANK
from keras_transformers.text.graph.streams.runs import run_lengths
from keras_transformers.text.graph.streams.streams import Tracked, row_starts

SPACE_LETTER = ord("Ġ")  # what ByteLevel writes for a space


class Trim(tf.Module):
    """Move offsets over the spaces that their tokens begin and end with.

    Args:
        processors: the post-processors that do so.
        model: the "model" of the tokenizer.json.
        library: the tokenizer.
    """

    def __init__(self, processors: list[dict[str, Any]], model: dict[str, Any], library: tokenizers.Tokenizer):
        super().__init__()
        # Of the first token they keep a single space: the pre-tokeniser may have put it there.
        self.keep_first = [part["add_prefix_space"] for part in processors]
        blanks = np.flatnonzero(shipped()["regex"] >= BLANK)
        spaces = "".join(map(chr, [*blanks, SPACE_LETTER]))
        tokens = library.get_vocab()
        ends = np.zeros((max(tokens.values(), default=0) + 1, 2), np.int32)
        for token, i in tokens.items():
            ends[i] = [len(token) - len(rest) for rest in (token.lstrip(spaces), token.rstrip(spaces))]
        self.ends = tf.constant(ends)
        self.is_blank = PointTable(shipped()["regex"] >= BLANK)
        self.spelled_id = model["unk_id"] if model["type"] == "Unigram" else None

    def spaces(self, points: Tracked, ids: Tracked, first: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
        """(M, 2) int32: how many spaces M tokens begin and end with.

        Args:
            points: the stream that the model read; its spans have what `AddedTokens` counted.
            ids: the tokens.
            first, stop: (M,) the values of `points` that each token came from.
        """
        ends = tf.gather(self.ends, ids.values)  # (M, 2)
        if self.spelled_id is not None:  # the library gives unknown tokens of Unigram their letters
            spelled = spaces_at_ends(points, self.is_blank(points.values) > 0, first, stop)
            ends = tf.where((ids.values == self.spelled_id)[:, None], spelled, ends)
        is_added = tf.gather(points.values, first) >= TOKEN
        return tf.where(is_added[:, None], tf.gather(points.spans[:, 2:], first), ends)

    def __call__(self, offsets: tf.Tensor, spaces: tf.Tensor, is_first: tf.Tensor) -> tf.Tensor:
        """Offsets (..., 2) without spaces (..., 2); `is_first` (...) bool: True for the first token of each text."""
        start, stop = tf.unstack(offsets, axis=-1)
        before, after = tf.unstack(spaces, axis=-1)
        for keeps_first in self.keep_first:
            is_own = keeps_first & (is_first | (start == 0)) & (before == 1)
            start = tf.minimum(start + tf.where(is_own, 0, before), stop)
            stop = tf.where(stop >= after, tf.maximum(stop - after, start), stop)
        return tf.stack([start, stop], -1)


def spaces_at_ends(points: Tracked, is_blank: tf.Tensor, first: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
    """(P, 2) int32: how many spaces stand at the beginning and at the end of the values from `first` up to `stop`.

    Args:
        points: N values.
        is_blank: (N,) bool.
        first, stop: (P,).
    """
    up_to, from_here = run_lengths(is_blank | (points.values == SPACE_LETTER), row_starts(points))  # (N,), (N,)
    ends = tf.stack([tf.gather(from_here, first), tf.gather(up_to, stop - 1)], 1)  # (P, 2)
    return tf.cast(tf.minimum(ends, tf.cast(stop - first, ends.dtype)[:, None]), tf.int32)
