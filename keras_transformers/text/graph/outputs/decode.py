"""Decoders as ops: ids to text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf
import tokenizers

from keras_transformers.text.graph.streams.streams import shift
from keras_transformers.text.pipelines.components import parts, refuse
from keras_transformers.text.pipelines.library import count_ids
from keras_transformers.text.vocabularies.pieces import (
    BYTE,
    LAST_SPACE,
    around_fuse,
    speller,
    strip_limits,
    text_tokens,
)

FIRST, LAST = 1, 2
# Decoders of single tokens: the text of a token depends only on whether it is the first or the last. The texts come
# from the library.
PER_TOKEN = {"Replace", "Metaspace", "WordPiece", "BPEDecoder", "Strip"}
ORDERS = [
    "ByteLevel",
    *sorted(PER_TOKEN),
    "Replace, ByteFallback",
    "Fuse after those",
    f"Strip, Replace of {LAST_SPACE!r} after Fuse",
]
REPLACEMENT = "\ufffd"
MOST_STRIPPED = 1000  # maximum repetition in a pattern of TensorFlow


class Decoder(tf.Module):
    """Ops that join tokens into text, as the library does with `skip_special_tokens=True`.

    The table of texts is made at the first call, as not every user decodes: it takes a third of the time to compile a
    vocabulary.
    """

    def __init__(self, pipeline: dict[str, Any], library: tokenizers.Tokenizer):
        super().__init__()
        decoder, after_fuse = around_fuse(pipeline["decoder"])
        kinds = [step["type"] for step in parts(pipeline["decoder"])]
        self.from_bytes = kinds == ["ByteLevel"]
        single = {step["type"] for step in parts(decoder)}
        self.strips = [_strip_patterns(step) for step in after_fuse]
        if not (self.from_bytes or single <= PER_TOKEN or single <= {"Replace", "ByteFallback"}) or [] in self.strips:
            raise refuse("decoder", ", ".join(kinds), ORDERS)
        self.has_bytes = "ByteFallback" in single
        self._tabulate_once: Callable | None = partial(self._tabulate, library, decoder)

    def _tabulate(self, library: tokenizers.Tokenizer, decoder: dict[str, Any] | None) -> None:
        """Store the texts of all tokens for each place (first, last, both, neither) in a tensor; equal tables once."""
        known, size = text_tokens(library), count_ids(library)
        tokens = [known.get(i) for i in range(size + 1)]
        self.is_text = tf.constant([token is not None for token in tokens])
        self.is_byte = tf.constant([bool(BYTE.fullmatch(token or "")) for token in tokens]) if self.has_bytes else None
        tables: dict[tuple[bytes, ...], int] = {}
        begins = []
        for place in range(1 if self.from_bytes else 4):
            spell = speller(decoder, bool(place & FIRST), bool(place & LAST))
            table = tuple(b"" if token is None else spell(token) for token in tokens)
            begins.append(len(tokens) * tables.setdefault(table, len(tables)))
        self.begins = tf.constant(begins * (4 // len(begins)))
        self.texts = tf.concat([tf.constant(table) for table in tables], 0)

    def __call__(self, ids: tf.Tensor) -> tf.Tensor:
        """Convert ids (B, T) int32 to texts (B,) string; special tokens and ids outside the vocabulary are left out."""
        if tabulate := self._tabulate_once:
            with tf.init_scope():  # the tables outlive the function that is traced
                tabulate()
            self._tabulate_once = None
        outside = tf.size(self.is_text) - 1
        ids = tf.where((ids >= 0) & (ids < outside), ids, outside)  # (B, T)
        is_text = tf.gather(self.is_text, ids)  # (B, T)

        is_counted = tf.cast(is_text, tf.int32)
        is_first, is_last = (tf.cumsum(is_counted, 1, reverse=reverse) == 1 for reverse in (False, True))  # (B, T)
        place = FIRST * tf.cast(is_first, tf.int32) + LAST * tf.cast(is_last, tf.int32)  # (B, T)
        texts = tf.where(is_text, tf.gather(self.texts, tf.gather(self.begins, place) + ids), "")  # (B, T)

        if self.is_byte is not None:
            is_byte = tf.gather(self.is_byte, ids)  # (B, T)
            texts = tf.cond(tf.reduce_any(is_byte), lambda: _check_bytes(texts, is_text, is_byte), lambda: texts)

        text = tf.strings.reduce_join(texts, 1)  # (B,)
        if self.from_bytes:
            return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
        for pattern in (pattern for patterns in self.strips for pattern in patterns):
            text = tf.strings.regex_replace(text, pattern, "")
        return text


def _check_bytes(texts: tf.Tensor, is_text: tf.Tensor, is_byte: tf.Tensor) -> tf.Tensor:
    """Replace each byte of a run of byte tokens by U+FFFD if the run is not valid UTF-8; all are (B, T)."""
    at = tf.where(is_text)  # (N, 2)
    values, is_byte = tf.boolean_mask(texts, is_text), tf.boolean_mask(is_byte, is_text)  # (N,), (N,)
    row = at[:, 0]  # (N,)
    continues = is_byte & shift(is_byte, False) & (row == shift(row, -1))  # (N,)
    run = tf.cumsum(tf.cast(~continues, tf.int32)) - 1  # (N,)

    joined = tf.strings.unsorted_segment_join(values, run, run[-1] + 1)  # (R,)
    broken = tf.strings.unicode_transcode(joined, "UTF-8", "UTF-8", errors="replace") != joined  # (R,)
    values = tf.where(is_byte & tf.gather(broken, run), REPLACEMENT, values)  # (N,)
    return tf.tensor_scatter_nd_update(texts, at, values)  # (B, T)


def _strip_patterns(step: dict[str, Any]) -> list[str]:
    """Return regular expressions for what a decoder drops at the ends of a text; [] for other decoders."""
    limits = strip_limits(step)
    if limits is None or max(limits[1:]) > MOST_STRIPPED:
        return []
    content, start, stop = re.escape(limits[0]), *limits[1:]
    return [f"^{content}{{0,{start}}}", f"{content}{{0,{stop}}}$"]
