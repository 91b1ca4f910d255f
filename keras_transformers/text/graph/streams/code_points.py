"""Tables of code points: the shipped ones, and small tensors made of them."""

from __future__ import annotations

from functools import cache

import numpy as np
import tensorflow as tf

from keras_transformers.text.graph.streams.probe import SPACE, TABLES, UNICODE_SIZE
from keras_transformers.text.graph.streams.streams import Stream, replace, row_starts, shift

TOKEN = UNICODE_SIZE  # in a stream of code points, TOKEN + id is an added token
PAGE = 256
SEQUENCE = 1 << 24  # a table entry below it is a difference of code points; others are indices into the pool


@cache
def shipped() -> dict[str, np.ndarray]:
    """Return the tables that `probe` made."""
    with np.load(TABLES) as file:
        return dict(file)


class PointTable(tf.Module):
    """A table of one integer for each code point, in pages of 256 (equal ones stored once); one for added tokens."""

    def __init__(self, entries: np.ndarray, token: int = 0):
        super().__init__()
        pages = np.append(entries, np.full(PAGE, token)).astype(np.int32).reshape(-1, PAGE)
        distinct: dict[bytes, int] = {}
        self.index = tf.constant([PAGE * distinct.setdefault(page.tobytes(), len(distinct)) for page in pages])
        self.pages = tf.constant(np.frombuffer(b"".join(distinct), np.int32))

    def __call__(self, points: tf.Tensor) -> tf.Tensor:
        page = tf.gather(self.index, tf.minimum(points, TOKEN) // PAGE)
        return tf.gather(self.pages, page + points % PAGE)


class Mapping:
    """A replacement of each code point by zero or more code points; composable with `then`."""

    def __init__(self, keys: np.ndarray, lengths: np.ndarray, values: np.ndarray):
        self.lengths = np.ones(UNICODE_SIZE, np.int32)
        self.lengths[keys] = lengths
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.values = np.empty(self.lengths.sum(), np.int32)
        kept = np.ones(UNICODE_SIZE, bool)
        kept[keys] = False
        self.values[self.starts[kept]] = np.flatnonzero(kept)
        self.values[_ranges(self.starts[keys], self.lengths[keys])] = values

    @classmethod
    def shipped(cls, name: str) -> Mapping:
        """Return the mapping `name` of the shipped tables."""
        return cls(*(shipped()[f"{name}_{part}"] for part in ("keys", "lengths", "values")))

    @classmethod
    def cleaning(cls) -> Mapping:
        """Return the mapping that drops control characters, and replaces whitespace by a space."""
        keys = np.flatnonzero(shipped()["clean"])
        action = shipped()["clean"][keys]
        return cls(keys, action == SPACE, np.full((action == SPACE).sum(), ord(" ")))

    @classmethod
    def dropping(cls, name: str) -> Mapping:
        """Return the mapping that drops the code points of a class."""
        keys = np.flatnonzero(shipped()[name])
        return cls(keys, np.zeros_like(keys), keys[:0])

    def then(self, after: Mapping) -> Mapping:
        """Return this mapping followed by `after`."""
        lengths = after.lengths[self.values]
        values = after.values[_ranges(after.starts[self.values], lengths)]
        total = np.concatenate([[0], np.cumsum(lengths)])
        return Mapping(np.arange(UNICODE_SIZE), total[self.starts + self.lengths] - total[self.starts], values)


class Replacer(tf.Module):
    """Ops that replace the code points of a stream by a `Mapping`."""

    def __init__(self, mapping: Mapping):
        super().__init__()
        single = mapping.lengths == 1
        many = np.where(mapping.lengths > 1, mapping.lengths, 0)
        self.base = int(many.max()) + 1  # an entry is place * base + length
        entries = SEQUENCE + (np.cumsum(many) - many) * (many > 0) * self.base + many
        entries[single] = mapping.values[mapping.starts[single]] - np.flatnonzero(single)
        self.entry = PointTable(entries)
        self.pool = tf.constant(mapping.values[_ranges(mapping.starts, many)], tf.int32)

    def __call__(self, points: Stream) -> Stream:
        entry = self.entry(points.values)  # (N,)
        is_sequence = entry >= SEQUENCE
        points = points.with_values(points.values + tf.where(is_sequence, 0, entry))

        def splice() -> Stream:
            place = entry - SEQUENCE
            start = tf.where(is_sequence, place // self.base, -1)
            return replace(points, start, tf.where(is_sequence, place % self.base, 1), self.pool)

        return tf.cond(tf.reduce_any(is_sequence), splice, lambda: points)


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Concatenate arange(start, start + length) of each pair."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def piece_starts(points: Stream) -> tf.Tensor:
    """Mark where a piece of text begins, (N,) bool: at a row's start, at an added token, or after one."""
    is_token = points.values >= TOKEN
    return row_starts(points) | is_token | shift(is_token, False)
