"""The letters that byte-pair encoding begins with, as ops: words to ids before any merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.probe import UNICODE_SIZE
from keras_transformers.text.graph.refuse import refuse
from keras_transformers.text.graph.streams import keep, replace, row_starts, shift
from keras_transformers.text.graph.tables import PointTable

MISSING = -1


class Letters(tf.Module):
    """The id of each letter of a word, in the spelling that it has there; what becomes of letters without an id.

    Args:
        model: the "model" of a tokenizer.json.
        code: the number that stands for a letter in the stream, of a str of length 1; None if nothing does.
    """

    def __init__(self, model: dict[str, Any], code: Callable[[str], int | None]):
        super().__init__()
        vocabulary = model["vocab"]
        prefix, suffix = model["continuing_subword_prefix"] or "", model["end_of_word_suffix"] or ""
        self.inside = _table(vocabulary, prefix, "", code)
        places = ((True, False), (False, True), (True, True)) if prefix or suffix else ()
        self.at_ends = {
            (first, last): _table(vocabulary, "" if first else prefix, suffix if last else "", code)
            for first, last in places
        }
        self.unknown, self.fuse, self.bytes = model["unk_token"], model["fuse_unk"], None
        if self.unknown is not None and self.unknown not in vocabulary:
            raise ValueError(f"BPE: unk_token {self.unknown!r} is not in the vocabulary.")
        self.unknown = vocabulary.get(self.unknown)
        byte_ids = [vocabulary.get(f"<0x{byte:02X}>", MISSING) for byte in range(256)]
        if model["byte_fallback"] and max(byte_ids) > MISSING:
            if prefix or suffix or min(byte_ids) == MISSING or code is not ord:
                raise refuse("model", "BPE with byte_fallback", ["BPE with all of <0x00> to <0xFF>, and no affixes"])
            self.bytes = tf.constant(byte_ids)

    def __call__(self, letters: tf.RaggedTensor) -> tf.RaggedTensor:
        """Words of letters (U, None) int32 to words of ids (U, None) int32."""
        first = row_starts(letters)
        last = shift(first, True, by=-1)
        ids = self.inside(letters.values)
        for (is_first, is_last), table in self.at_ends.items():
            ids = tf.where((first == is_first) & (last == is_last), table(letters.values), ids)
        words = letters.with_values(ids)
        return tf.cond(
            tf.reduce_any(ids == MISSING), lambda: self._without_missing(words, letters.values), lambda: words
        )

    def _without_missing(self, words: tf.RaggedTensor, letters: tf.Tensor) -> tf.RaggedTensor:
        missing = words.values == MISSING
        if self.bytes is not None:
            spelled = tf.strings.unicode_encode(tf.boolean_mask(letters, missing)[:, None], "UTF-8")
            spelled = tf.strings.unicode_decode(spelled, "ISO-8859-1")  # its code points are the bytes
            at, splits = tf.where(missing), tf.cast(spelled.row_splits, tf.int32)
            start = tf.tensor_scatter_nd_update(tf.fill(tf.shape(letters), -1), at, splits[:-1])
            length = tf.tensor_scatter_nd_update(tf.ones_like(letters), at, splits[1:] - splits[:-1])
            return replace(words, start, length, tf.gather(self.bytes, spelled.values))
        if self.unknown is None:
            return keep(words, ~missing)
        words = words.with_values(tf.where(missing, self.unknown, words.values))
        return keep(words, ~(missing & shift(missing, False) & ~row_starts(words))) if self.fuse else words


def _table(vocabulary: dict[str, int], prefix: str, suffix: str, code: Callable[[str], int | None]) -> PointTable:
    """Ids of the letters that are spelled with these affixes."""
    entries = np.full(UNICODE_SIZE, MISSING, np.int32)
    for token, i in vocabulary.items():
        letter = token[len(prefix) : len(token) - len(suffix)]
        if len(letter) == 1 and token == prefix + letter + suffix and code(letter) is not None:
            entries[code(letter)] = i
    return PointTable(entries, token=MISSING)
