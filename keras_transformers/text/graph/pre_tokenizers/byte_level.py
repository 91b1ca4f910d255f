"""The pre-tokeniser ByteLevel as ops."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.pre_tokenizers.split_patterns import WordPattern
from keras_transformers.text.graph.streams.code_points import TOKEN
from keras_transformers.text.graph.streams.streams import Stream, insert, replace
from keras_transformers.text.pipelines.components import parts
from keras_transformers.text.vocabularies.byte_pair_vocabulary import byte_letters

MOST_BYTES = 4  # of a character in UTF-8


class ByteLevel(tf.Module):
    """The pre-tokeniser ByteLevel: GPT-2's splits, with a space before each piece of text if `add_prefix_space` is set.

    The library also writes every byte as a letter here. In ops the model (`BytePair`) looks up the bytes themselves,
    where it can: where it cannot (`reads_bytes`), the letters are written here, too.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.add_prefix_space = config["add_prefix_space"]
        self.pattern = WordPattern(tiktoken=False, digits=0) if config["use_regex"] else None
        self.spells = False
        self.letters = tf.constant([ord(letter) for letter, _ in sorted(byte_letters().items(), key=itemgetter(1))])

    def __call__(self, points: Stream, starts: tf.Tensor) -> tuple[Stream, tf.Tensor]:
        if self.add_prefix_space:
            lacks_space = starts & (points.values != ord(" ")) & (points.values < TOKEN)
            points, starts = insert(points, starts, lacks_space, ord(" "))
        if self.pattern:
            points, starts = self.pattern(points, starts)
        return self._spell(points, starts) if self.spells else (points, starts)

    def _spell(self, points: Stream, starts: tf.Tensor) -> tuple[Stream, tf.Tensor]:
        """Replace each code point by the letters of its bytes."""
        text = tf.strings.unicode_encode(points.values[:, None], "UTF-8")  # (N,)
        spelled = tf.strings.unicode_decode(text, "ISO-8859-1")  # (N, 1 to 4): each byte is its code point there
        is_token = points.values >= TOKEN  # (N,)
        first, length = (
            tf.where(is_token, value, tf.cast(lengths, tf.int32))
            for value, lengths in ((-1, spelled.row_starts()), (1, spelled.row_lengths()))
        )
        begins = tf.concat([starts[:, None], tf.zeros([tf.size(starts), MOST_BYTES - 1], tf.bool)], 1)
        starts = tf.boolean_mask(begins, tf.sequence_mask(length, MOST_BYTES))
        return replace(points, first, length, tf.gather(self.letters, spelled.values)), starts


def reads_bytes(pipeline: dict[str, Any]) -> bool:
    """Return whether the model of a tokenizer.json can read bytes in place of the letters that ByteLevel writes.

    Only `BPE` can, and only where ByteLevel is the last pre-tokenizer: one after it splits the letters, perhaps between
    the bytes of one character.
    """
    kinds = [part["type"] for part in parts(pipeline["pre_tokenizer"])]
    return pipeline["model"]["type"] == "BPE" and kinds[-1:] == ["ByteLevel"] and kinds.count("ByteLevel") == 1
