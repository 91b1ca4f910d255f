"""Matches of patterns in streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from keras_transformers.text.graph.streams.streams import Stream, leftmost, shift


class Matches(NamedTuple):
    """Matches that do not overlap, in N values."""

    first: tf.Tensor  # (N,) bool, the first value of each match
    inside: tf.Tensor  # (N,) bool, all values of matches
    last: tf.Tensor  # (N,) bool, the last value of each match


def matches_of_one(inside: tf.Tensor) -> Matches:
    """Return matches of one value each, `inside` (N,) bool."""
    return Matches(inside, inside, inside)


def find_string(points: Stream, starts: tf.Tensor, pattern: Sequence[int]) -> Matches:
    """Find a string in each piece of text. The leftmost match wins.

    Args:
        points: N code points.
        starts: (N,) bool, where pieces begin: no match reaches over the start of a piece.
        pattern: The code points of the string, at least one.
    """
    values, size = points.values, len(pattern)
    first = values == pattern[-1]  # (N,)
    for value in reversed(pattern[:-1]):
        first = (values == value) & shift(first & ~starts, False, by=-1)  # (N,)

    if any(pattern[:n] == pattern[-n:] for n in range(1, size)):  # "''" is twice in "'''", and may match once
        found = first
        first = tf.cond(tf.reduce_any(found), lambda: _without_overlaps(found, size), lambda: found)

    inside = last = first
    for _ in range(size - 1):
        last = shift(last, False)
        inside |= last
    return Matches(first, inside, last)


def _without_overlaps(first: tf.Tensor, size: int) -> tf.Tensor:
    at = tf.where(first)  # (M, 1)
    return tf.tensor_scatter_nd_update(first, at, leftmost(at[:, 0], at[:, 0] + size))
