"""Byte-pair encoding as ops: words to ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tokenizers

from keras_transformers.text.graph.models.letters import Letters
from keras_transformers.text.graph.models.merges import Merges
from keras_transformers.text.graph.models.whole_words import WholeWords
from keras_transformers.text.graph.pre_tokenizers.byte_level import reads_bytes
from keras_transformers.text.graph.streams.streams import Stream, shift
from keras_transformers.text.graph.streams.tracking import tracked_in_rows
from keras_transformers.text.pipelines.components import refuse
from keras_transformers.text.pipelines.library import uncached
from keras_transformers.text.vocabularies.byte_pair_vocabulary import byte_letters, letters_to_bytes

SPACE = "▁"


class BytePair(tf.Module):
    """The model BPE: words are split into letters, which are merged pair by pair (Sennrich et al., 2016).

    Letters are bytes if the pre-tokeniser is ByteLevel, else characters.
    """

    def __init__(self, pipeline: dict[str, Any], library: tokenizers.Tokenizer):
        super().__init__()
        config = pipeline["model"]
        if config["dropout"]:
            raise refuse("model", f"BPE with dropout {config['dropout']}", ["BPE without dropout"])
        self.of_bytes = reads_bytes(pipeline)
        self.letters = Letters(config, byte_letters().get if self.of_bytes else ord)
        self.merges = _merges(config)
        self.words = WholeWords(self._whole_words(config, uncached(library.model)), self._spell)
        self.cuts_at_spaces = not self.of_bytes and _never_spans_spaces(config)

    def __call__(self, points: Stream, starts: tf.Tensor) -> Stream:
        if self.cuts_at_spaces:
            is_space = points.values == ord(SPACE)
            starts |= is_space & ~shift(is_space, False)
        return self.words(points, starts)

    def _spell(self, text: tf.Tensor, is_tracked: bool) -> Stream:
        # In ISO-8859-1 each byte is the code point of the same number.
        letters = tf.strings.unicode_decode(text, "ISO-8859-1" if self.of_bytes else "UTF-8")
        if is_tracked:
            begins = letters.values // 64 != 2 if self.of_bytes else None  # bytes from 128 to 191 continue a character
            letters = tracked_in_rows(letters, begins)
        return self.merges(self.letters(letters))

    def _whole_words(self, config: dict[str, Any], model: tokenizers.models.Model) -> dict[bytes, int]:
        """Return word to id, for the tokens that the library encodes as one id when they are words."""
        suffix = config["end_of_word_suffix"] or ""
        known: dict[bytes, int] = {}
        spell: Callable[[str], bytes | None] = letters_to_bytes if self.of_bytes else str.encode
        for word in {*config["vocab"], *(token.removesuffix(suffix) for token in config["vocab"])}:
            text = spell(word)
            pieces = model.tokenize(word) if text else []
            if text and len(pieces) == 1:
                known[text] = pieces[0].id
        return known


def _merges(config: dict[str, Any]) -> Merges:
    vocabulary, prefix = config["vocab"], config["continuing_subword_prefix"] or ""
    pairs = [(vocabulary[left], vocabulary[right]) for left, right in config["merges"]]
    products = [vocabulary[left + right.removeprefix(prefix)] for left, right in config["merges"]]
    return Merges(pairs, products, max(vocabulary.values(), default=0) + 1)


def _never_spans_spaces(config: dict[str, Any]) -> bool:
    """Return whether a text that is one word, as in Llama 2, can be cut before its spaces "▁" with the same result.

    It can if no merge makes a token with a space inside. Then words are found in the table, and merges are short.
    """
    products = (left + right for left, right in config["merges"])
    has_affixes = config["continuing_subword_prefix"] or config["end_of_word_suffix"]
    return (
        SPACE in config["vocab"]
        and not (has_affixes or config["ignore_merges"])
        and not any(SPACE in product.lstrip(SPACE) for product in products)
    )
