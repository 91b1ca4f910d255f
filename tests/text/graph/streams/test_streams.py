"""Operations on streams against lists of Python."""

from __future__ import annotations

import random

import pytest
import tensorflow as tf

from keras_transformers.text.graph.streams.streams import (
    Tracked,
    insert,
    join,
    keep,
    offsets,
    reachable,
    replace,
    row_starts,
    shift,
    stream,
)

ROWS = [[], [5, 6, 7], [], [8], [9, 5], []]
STREAM = tf.ragged.constant(ROWS, tf.int32)
VALUES = [value for row in ROWS for value in row]


def test_row_splits_and_starts():
    assert offsets(tf.constant([2, 0, 3])).numpy().tolist() == [0, 2, 2, 5]
    assert stream(tf.constant(VALUES), STREAM.row_splits).to_list() == ROWS
    assert row_starts(STREAM).numpy().tolist() == [True, False, False, True, True, False]


def test_shift():
    values = tf.constant([1, 2, 3])
    assert shift(values, 0).numpy().tolist() == [0, 1, 2]
    assert shift(values, 9, by=-1).numpy().tolist() == [2, 3, 9]
    assert shift(values[:0], 0).numpy().tolist() == []


def test_keep():
    mask = [True, False, True, False, False, True]
    assert keep(STREAM, tf.constant(mask)).to_list() == [[], [5, 7], [], [], [5], []]
    assert keep(STREAM, tf.zeros([6], tf.bool)).to_list() == [[]] * 6


def test_insert_takes_over_the_start():
    starts = tf.constant([True, False, True, True, True, False])
    before = tf.constant([True, False, False, False, False, True])
    points, begins = insert(STREAM, starts, before, 1)
    assert points.to_list() == [[], [1, 5, 6, 7], [], [8], [9, 1, 5], []]
    assert begins.numpy().tolist() == [True, False, False, True, True, True, False, False]


def test_replace():
    """By nothing, by several values, and values that stay."""
    start, length = tf.constant([-1, 0, 1, -1, 2, 0]), tf.constant([1, 0, 2, 1, 1, 3])
    replaced = replace(STREAM, start, length, tf.constant([10, 20, 30]))
    assert replaced.to_list() == [[], [5, 20, 30], [], [8], [30, 10, 20, 30], []]


SPANS = tf.constant([[0, 1], [1, 2], [4, 6], [0, 1], [0, 3], [3, 4]])
TRACKED = Tracked(STREAM, SPANS)


def test_tracked_streams_have_what_components_read():
    assert TRACKED.with_values(-STREAM.values).points.to_list() == (-STREAM).to_list()
    assert (TRACKED.row_lengths() == STREAM.row_lengths()).numpy().all()
    assert (TRACKED.value_rowids() == STREAM.value_rowids()).numpy().all()
    assert TRACKED.row_splits is STREAM.row_splits
    swapped = TRACKED.with_starts(SPANS[:, 1]).with_stops(SPANS[:, 0]).spans
    assert (swapped == SPANS[:, ::-1]).numpy().all()


def test_spans_go_with_their_values():
    kept = keep(TRACKED, tf.constant([True, False, True, False, False, True]))
    assert kept.points.to_list() == [[], [5, 7], [], [], [5], []]
    assert kept.spans.numpy().tolist() == [[0, 1], [4, 6], [3, 4]]

    before = tf.constant([True, False, False, False, False, True])
    points, _ = insert(TRACKED, row_starts(STREAM), before, 1)
    assert points.points.to_list() == [[], [1, 5, 6, 7], [], [8], [9, 1, 5], []]
    assert points.spans.numpy().tolist() == [[0, 1], [0, 1], [1, 2], [4, 6], [0, 1], [0, 3], [3, 4], [3, 4]]

    start, length = tf.constant([-1, 0, 1, -1, 2, 0]), tf.constant([1, 0, 2, 1, 1, 2])
    pool = tf.constant([10, 20, 30])
    replaced = replace(TRACKED, start, length, pool)
    assert replaced.points.to_list() == [[], [5, 20, 30], [], [8], [30, 10, 20], []]
    assert replaced.spans.numpy().tolist() == [[0, 1], [4, 6], [4, 6], [0, 1], [0, 3], [3, 4], [3, 4]]

    parts = Tracked(stream(pool, tf.constant([0, 3])), tf.constant([[0, 1], [1, 2], [1, 2]]))
    spans = replace(TRACKED, start, length, parts).spans.numpy().tolist()
    assert spans == [[0, 1], [5, 6], [5, 6], [0, 1], [1, 2], [3, 4], [4, 5]]


def test_join():
    mask = tf.constant([True, False, False, True, True, False])
    joined = join(TRACKED, mask)
    assert joined.points.to_list() == join(STREAM, mask).to_list() == [[], [5], [], [8], [9], []]
    assert joined.spans.numpy().tolist() == [[0, 6], [0, 1], [0, 4]]


@pytest.mark.parametrize("seed", range(5))
def test_reachable_equals_a_walk(seed):
    draw = random.Random(seed)
    size = 40
    successor = [draw.randint(i, size) for i in range(size)]
    starts = [draw.random() < 0.1 for _ in range(size)]
    met = set()
    for node in (i for i, start in enumerate(starts) if start):
        while node < size and node not in met:
            met.add(node)
            node = successor[node]
    reached = reachable(tf.constant(starts), tf.constant(successor), size).numpy().tolist()
    assert reached == [i in met for i in range(size)]


def test_reachable_takes_few_steps_if_few_are_needed():
    """`most` is a promise: of a chain of nine nodes, four steps reach five."""
    chain = tf.range(1, 10)
    starts = tf.range(9) == 0
    assert reachable(starts, chain, 8).numpy().all()
    assert reachable(starts, chain, 2).numpy().sum() == 4  # two doublings: strides of 1 and 2
