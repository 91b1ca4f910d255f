"""Trimming of offsets as ops: the post-processors ByteLevel and Roberta leave out the spaces at the ends of tokens."""

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
    """Ops that move offsets over the spaces at the beginning and the end of their tokens.

    Args:
        processors: The post-processors that trim offsets.
        model: The "model" of the tokenizer.json.
        library: The tokenizer.
    """

    def __init__(self, processors: list[dict[str, Any]], model: dict[str, Any], library: tokenizers.Tokenizer):
        super().__init__()
        # They keep a single space of the first token: the pre-tokeniser may have put it there.
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
        """Count the spaces at the beginning and the end of M tokens, (M, 2) int32.

        Args:
            points: The stream that the model read; its spans have the spaces that `AddedTokens` counted.
            ids: The tokens.
            first, stop: (M,) the range of `points` that each token came from.
        """
        ends = tf.gather(self.ends, ids.values)  # (M, 2)
        if self.spelled_id is not None:  # the library gives unknown tokens of Unigram their letters
            spelled = spaces_at_ends(points, self.is_blank(points.values) > 0, first, stop)
            ends = tf.where((ids.values == self.spelled_id)[:, None], spelled, ends)
        is_added = tf.gather(points.values, first) >= TOKEN
        return tf.where(is_added[:, None], tf.gather(points.spans[:, 2:], first), ends)

    def __call__(self, offsets: tf.Tensor, spaces: tf.Tensor, is_first: tf.Tensor) -> tf.Tensor:
        """Trim spaces (..., 2) off offsets (..., 2); `is_first` (...) bool: True for the first token of each text."""
        start, stop = tf.unstack(offsets, axis=-1)
        before, after = tf.unstack(spaces, axis=-1)
        for keeps_first in self.keep_first:
            is_own = keeps_first & (is_first | (start == 0)) & (before == 1)
            start = tf.minimum(start + tf.where(is_own, 0, before), stop)
            stop = tf.where(stop >= after, tf.maximum(stop - after, start), stop)
        return tf.stack([start, stop], -1)


def spaces_at_ends(points: Tracked, is_blank: tf.Tensor, first: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
    """Count the spaces at the beginning and at the end of the values from `first` up to `stop`, (P, 2) int32.

    Args:
        points: N values.
        is_blank: (N,) bool.
        first, stop: (P,).
    """
    up_to, from_here = run_lengths(is_blank | (points.values == SPACE_LETTER), row_starts(points))  # (N,), (N,)
    ends = tf.stack([tf.gather(from_here, first), tf.gather(up_to, stop - 1)], 1)  # (P, 2)
    return tf.cast(tf.minimum(ends, tf.cast(stop - first, ends.dtype)[:, None]), tf.int32)
