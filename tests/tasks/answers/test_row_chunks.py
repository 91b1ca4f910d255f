"""Chunks of rows: the whole result, whatever their size, a few rows at a time."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.tasks.answers import row_chunks
from keras_transformers.tasks.answers.row_chunks import Spec, in_chunks

SPECS = {"sum": Spec("float32", ()), "pair": Spec("int32", (2,))}
ROWS = {"a": np.arange(14.0, dtype="float32").reshape(7, 2), "b": np.arange(7, dtype="int32")}


def work(columns):
    pair = keras.ops.stack([columns["b"], columns["b"] * 2], axis=1)
    return {"sum": keras.ops.sum(columns["a"], axis=1), "pair": pair}


def check(found, rows=7):
    np.testing.assert_array_equal(found["sum"], ROWS["a"].sum(axis=1)[:rows])
    np.testing.assert_array_equal(found["pair"], np.stack([ROWS["b"], ROWS["b"] * 2], axis=1)[:rows])


@pytest.mark.integration(quick=["0-3", "1-1", "1-2"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 32])
@pytest.mark.parametrize("rows", [0, 1, 6, 7])
def test_any_size(size, rows):
    columns = {name: tf.constant(column[:rows]) for name, column in ROWS.items()}
    check(in_chunks(work, columns, SPECS, size), rows)
    signature = {name: tf.TensorSpec([None, *column.shape[1:]], column.dtype) for name, column in ROWS.items()}
    graph = tf.function(lambda columns: in_chunks(work, columns, SPECS, size), input_signature=[signature])
    check(graph(columns), rows)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_without_tensorflow(monkeypatch, size):
    monkeypatch.setattr(row_chunks, "on_tensorflow", lambda: False)
    check(in_chunks(work, {name: keras.ops.convert_to_tensor(column) for name, column in ROWS.items()}, SPECS, size))


def test_chunks_are_no_larger():
    sizes = []
    in_chunks(lambda columns: sizes.append(len(columns["b"])) or work(columns), ROWS | {}, SPECS, 3)
    assert sizes == [3, 3, 1]
