"""Runs of code points of one class, against `itertools.groupby` piece by piece."""

from __future__ import annotations

from itertools import groupby

import tensorflow as tf

from keras_transformers.text.graph.streams.runs import EDGE, run_lengths, runs_of

PIECES = [[1, 1, 2], [2], [0, 0, 1, 1, 1, 0]]
CLASSES = tf.constant([kind for piece in PIECES for kind in piece])
STARTS = tf.constant([i == 0 for piece in PIECES for i in range(len(piece))])


def test_runs_with_their_neighbours():
    expected, first = [], 0
    for piece in PIECES:
        runs = [(kind, len(list(group))) for kind, group in groupby(piece)]
        kinds = [EDGE, *(kind for kind, _ in runs), EDGE]
        for number, (kind, length) in enumerate(runs):
            expected.append([first, first + length, kind, kinds[number], kinds[number + 2]])
            first += length
    runs = runs_of(CLASSES, STARTS)
    assert tf.stack([tf.cast(x, tf.int64) for x in runs], 1).numpy().tolist() == expected


def test_what_holds_for_a_run_holds_for_its_code_points():
    runs = runs_of(CLASSES, STARTS)
    assert runs.spread(runs.kind == 1).numpy().tolist() == (CLASSES == 1).numpy().tolist()
    assert runs.spread(runs.before == EDGE).numpy().tolist() == [i in (0, 1, 3, 4, 5) for i in range(10)]


def test_no_code_points():
    runs = runs_of(CLASSES[:0], STARTS[:0])
    assert all(part.shape == (0,) for part in runs)


def test_run_lengths():
    mask = tf.constant([True, True, True, False, True, False])
    starts = tf.constant([True, False, True, False, False, True])
    up_to, from_here = run_lengths(mask, starts)
    assert up_to.numpy().tolist() == [1, 2, 1, 0, 1, 0]
    assert from_here.numpy().tolist() == [2, 1, 1, 0, 1, 0]
