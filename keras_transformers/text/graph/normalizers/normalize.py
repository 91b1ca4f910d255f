"""Normalisers as ops, which bring the code points of a text into the form that the vocabulary expects."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, reduce
from typing import Any

import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import (
    TOKEN,
    Mapping,
    PointTable,
    Replacer,
    piece_starts,
    shipped,
)
from keras_transformers.text.graph.streams.probe import BLANK
from keras_transformers.text.graph.streams.runs import EDGE, runs_of
from keras_transformers.text.graph.streams.streams import Stream, Tracked, insert, keep, replace
from keras_transformers.text.graph.streams.tracking import leads, tracked

RANKS = 256


def lowercase(config: dict[str, Any]) -> Replacer:
    """Return the normaliser Lowercase."""
    return Replacer(Mapping.shipped("lower"))


def strip_accents(config: dict[str, Any]) -> Replacer:
    """Return the normaliser StripAccents, which drops all combining marks: more than `BertNormalizer` strips."""
    return Replacer(Mapping.dropping("accent"))


def nmt(config: dict[str, Any]) -> Replacer:
    """Return the normaliser Nmt: drop control characters, replace whitespace by a space."""
    return Replacer(Mapping.shipped("nmt"))


class Prepend(tf.Module):
    """The normaliser Prepend, which puts characters before each piece of text that is not empty."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.before = [ord(character) for character in reversed(config["prepend"])]

    def __call__(self, points: Stream) -> Stream:
        for value in self.before:
            starts = piece_starts(points)
            points, _ = insert(points, starts, starts & (points.values < TOKEN), value)
        return points


class Strip(tf.Module):
    """The normaliser Strip, which drops the whitespace at the ends of each piece of text."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.left, self.right = config["strip_left"], config["strip_right"]
        self.is_blank = PointTable(shipped()["regex"] >= BLANK)

    def __call__(self, points: Stream) -> Stream:
        blanks = runs_of(self.is_blank(points.values), piece_starts(points))
        at_end = (self.left & (blanks.before == EDGE)) | (self.right & (blanks.after == EDGE))
        return keep(points, ~blanks.spread((blanks.kind > 0) & at_end))


class BertNormalizer(tf.Module):
    """BERT's normaliser: clean, put spaces around Chinese characters, decompose and strip accents, lower-case.

    Every step replaces single code points, independent of their neighbours. The exception is the canonical order of
    combining marks that are not stripped, which is restored between decomposing and stripping.
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        lowercase = config["lowercase"]
        strip = lowercase if config["strip_accents"] is None else config["strip_accents"]
        clean = config["clean_text"]
        before, after = (["clean"] if clean else []), (["lower"] if lowercase else [])
        if strip:
            before, after = [*before, "decompose"], ["strip", *after]
        else:
            before, after = before + after, []
        self.before, self.after = _replacer(tuple(before)), _replacer(tuple(after))
        self.combining = PointTable(shipped()["combining"]) if strip else None
        chinese = shipped()["chinese"] * (shipped()["clean"] == 0 if clean else 1)
        self.chinese = PointTable(chinese) if config["handle_chinese_chars"] else None

    def __call__(self, points: Stream) -> Stream:
        if self.chinese:
            points = _surround(points, self.chinese(points.values) > 0)
        if self.combining:
            points = decompose(points, self.before, self.combining)  # type: ignore[arg-type]  # strips, so decomposes
        elif self.before:
            points = self.before(points)
        return self.after(points) if self.after else points


STEPS: dict[str, Callable[[], Mapping]] = {
    "clean": Mapping.cleaning,
    "decompose": partial(Mapping.shipped, "decompose"),
    "strip": partial(Mapping.dropping, "mark"),
    "lower": partial(Mapping.shipped, "lower"),
}


def _replacer(steps: tuple[str, ...]) -> Replacer | None:
    return Replacer(_mapping(steps)) if steps else None


@cache  # takes a quarter of a second, and is the same for every BERT
def _mapping(steps: tuple[str, ...]) -> Mapping:
    first, *others = (make() for make in map(STEPS.__getitem__, steps))
    return reduce(Mapping.then, others, first)


def _surround(points: Stream, mask: tf.Tensor) -> Stream:
    """Put a space before and after each value where `mask` is True."""

    def splice() -> Stream:
        blanks = tf.fill(tf.shape(points.values), ord(" "))
        pool = tf.reshape(tf.stack([blanks, points.values, blanks], 1), [-1])  # (3 N,)
        start = tf.where(mask, 3 * tf.range(tf.size(mask)), -1)  # (N,)
        return replace(points, start, tf.where(mask, 3, 1), pool)

    return tf.cond(tf.reduce_any(mask), splice, lambda: points)


def decompose(points: Stream, replacer: Replacer, combining: PointTable) -> Stream:
    """Decompose letters, and sort each run of their combining marks by rank; equal ranks keep their order.

    As in the library, spans are not sorted: in the new order, the first value of each decomposition takes the next
    span, and any other value the span of the value before it.
    """
    parts = replacer(points)
    rank = combining(parts.values)  # (N,)
    out_of_order = (rank[:-1] > rank[1:]) & (rank[1:] > 0)  # (N - 1,)

    def sort() -> Stream:
        runs = tf.cumsum(tf.cast(rank == 0, tf.int64)) + parts.value_rowids()  # (N,) a row starts a run, too
        order = tf.argsort(runs * RANKS + tf.cast(rank, tf.int64), stable=True)  # (N,)
        ordered = parts.with_values(tf.gather(parts.values, order))
        if not isinstance(points, Tracked):
            return ordered
        lead = leads(replacer(tracked(points.points)))  # (N,)
        source = tf.cumsum(tf.cast(tf.gather(lead, order), tf.int32)) - 1  # (N,)
        return Tracked(ordered.points, tf.gather(tf.boolean_mask(parts.spans, lead), source))

    return tf.cond(tf.reduce_any(out_of_order), sort, lambda: parts)
