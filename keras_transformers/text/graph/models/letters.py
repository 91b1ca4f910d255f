"""The first step of byte-pair encoding as ops: words to the ids of their letters, before any merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.models.missing_letters import MISSING, Missing, byte_ids
from keras_transformers.text.graph.streams.code_points import PointTable
from keras_transformers.text.graph.streams.probe import UNICODE_SIZE
from keras_transformers.text.graph.streams.streams import Stream, row_starts, shift
from keras_transformers.text.pipelines.components import refuse


class Letters(tf.Module):
    """Ops that return the id of each letter of a word: first, inner and last letters may have different ids (affixes).

    `Missing` handles letters without an id.

    Args:
        model: The "model" of a tokenizer.json.
        code: Function from a letter, a str of length 1, to its number in the stream; None if there is none.
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
        unknown = model["unk_token"]
        if unknown is not None and unknown not in vocabulary:
            raise ValueError(f"BPE: unk_token {unknown!r} is not in the vocabulary.")
        spelled = byte_ids(vocabulary) if model["byte_fallback"] else [MISSING]
        has_bytes = max(spelled) > MISSING
        if has_bytes and (prefix or suffix or min(spelled) == MISSING or code is not ord):
            raise refuse("model", "BPE with byte_fallback", ["BPE with all of <0x00> to <0xFF>, and no affixes"])
        fuse = model["fuse_unk"] and not has_bytes
        self.missing = Missing(spelled if has_bytes else None, vocabulary.get(unknown), fuse)

    def __call__(self, letters: Stream) -> Stream:
        """Convert words of letters (U, None) int32 to words of ids (U, None) int32."""
        first = row_starts(letters)  # (N,)
        last = shift(first, True, by=-1)  # (N,)
        ids = self.inside(letters.values)  # (N,)
        for (is_first, is_last), table in self.at_ends.items():
            ids = tf.where((first == is_first) & (last == is_last), table(letters.values), ids)
        return self.missing(letters.with_values(ids), letters.values)


def _table(vocabulary: dict[str, int], prefix: str, suffix: str, code: Callable[[str], int | None]) -> PointTable:
    """Return ids of the letters that the vocabulary has with these affixes."""
    entries = np.full(UNICODE_SIZE, MISSING, np.int32)
    for token, i in vocabulary.items():
        letter = token[len(prefix) : len(token) - len(suffix)]
        if len(letter) == 1 and token == prefix + letter + suffix and code(letter) is not None:
            entries[code(letter)] = i
    return PointTable(entries, token=MISSING)
