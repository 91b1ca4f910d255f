"""Products with 8 bits: the numbers that NumPy gets, for any rows, with and without XLA."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.layers import TokenEmbedding
from keras_transformers.layers.core.dense import Dense
from keras_transformers.layers.core.int8_weights import (
    PADDED_ROWS,
    int8_matrices,
    int8_matrix,
    rounded,
    without_xla,
)

DRAWS = np.random.default_rng(0)
MATRIX = DRAWS.normal(size=(96, 64)).astype("float32")  # (N, K)


def expected(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Whole numbers multiplied as such, then scaled."""
    scales = np.maximum(np.abs(matrix).max(1), 1e-30) / 127
    codes = np.rint(matrix / scales[:, None].astype("float32")).astype("int64")
    rows = np.maximum(np.abs(x).max(-1, keepdims=True), 1e-30) / 127
    whole = np.rint(x / rows.astype("float32")).astype("int64")
    return (whole @ codes.T) * rows * scales


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 17])
def test_products_are_of_whole_numbers(rows):
    x = DRAWS.normal(size=(rows, 64)).astype("float32")
    matrix = rounded(MATRIX)
    np.testing.assert_allclose(matrix.product(x), expected(x, MATRIX), rtol=1e-4, atol=1e-4)
    with without_xla():
        np.testing.assert_allclose(matrix.product(x), expected(x, MATRIX), rtol=1e-4, atol=1e-4)


def test_a_product_is_near_that_of_the_numbers():
    x = DRAWS.normal(size=(3, 5, 64)).astype("float32")
    found = rounded(MATRIX).product(x).numpy()
    assert found.shape == (3, 5, 96)
    assert np.abs(found - x @ MATRIX.T).max() < 0.02 * np.abs(x @ MATRIX.T).max()


def test_large_channels_lose_less_with_divisors():
    """One channel of activations 100 times as large, and one that was never active before."""
    x = DRAWS.normal(size=(8, 64)).astype("float32")
    x[:, 3] *= 100
    measured = np.abs(x).max(0)
    measured[5] = 0
    errors = [np.abs(rounded(MATRIX, largest).product(x) - x @ MATRIX.T).mean() for largest in (None, measured)]
    assert errors[1] < 0.3 * errors[0]


def test_divisors_change_no_row_of_a_table():
    ids = np.array([[1, 0], [95, 95]])
    table = rounded(MATRIX, np.linspace(1, 50, 64))
    np.testing.assert_allclose(table.rows(ids, "float32"), MATRIX[ids], atol=0.08)
    assert table.rows(ids, "bfloat16").dtype == "bfloat16"


def test_dtypes_stay():
    for dtype in ("bfloat16", "float16", "float32"):
        assert rounded(MATRIX).product(tf.ones((2, 64), dtype)).dtype == dtype


def test_zeros_and_numbers_that_are_none():
    matrix = rounded(np.zeros((64, 64), "float32"))
    assert not matrix.product(np.ones((2, 64), "float32")).numpy().any()
    assert not rounded(MATRIX).product(np.zeros((2, 64), "float32")).numpy().any()
    x = np.ones((2, 64), "float32")
    x[0, 0] = np.nan
    found = rounded(MATRIX).product(x).numpy()
    assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()
    with pytest.raises(ValueError, match="infinite or not a number"):
        rounded(np.where(MATRIX > 2, np.inf, MATRIX))
    with pytest.raises(ValueError, match="infinite or not a number"):
        rounded(MATRIX, np.full(64, np.nan))


def test_few_programs_for_all_numbers_of_rows():
    assert PADDED_ROWS[:8] == [2, 4, 8, 16, 24, 32, 48, 64] and PADDED_ROWS[-1] > 4_000_000
    assert all(later <= 2 * earlier for earlier, later in pairwise(PADDED_ROWS))


@pytest.mark.integration
def test_inside_graphs_loops_and_programs_of_xla():
    matrix, x = rounded(MATRIX[:64]), DRAWS.normal(size=(3, 64)).astype("float32")

    def twice(x):
        return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, matrix.product(x)), (0, x))[1]

    eager = matrix.product(matrix.product(x))
    for compiled in (False, True):
        function = tf.function(twice, [tf.TensorSpec([None, 64])], autograph=False, jit_compile=compiled)
        np.testing.assert_allclose(function(x), eager, rtol=1e-3, atol=1e-3)


def test_layers_use_them_inside_only():
    dense, embedding = Dense(96, activation="relu"), TokenEmbedding(96, 64)
    dense.build((None, 64))
    dense.bias.assign(DRAWS.normal(size=96))
    embedding.build((None, None))
    x, ids = DRAWS.normal(size=(2, 3, 64)).astype("float32"), np.array([[1, 95, 0]])
    matrices = {dense: rounded(np.array(dense.kernel).T), embedding: rounded(np.array(embedding.embeddings))}
    before = [np.array(y) for y in (dense(x), embedding(ids), embedding(x, reverse=True))]
    with int8_matrices(matrices):
        assert int8_matrix(dense) is matrices[dense]
        inside = [np.array(y) for y in (dense(x), embedding(ids), embedding(x, reverse=True))]
        with int8_matrices({}):
            assert int8_matrix(dense) is None
    after = [np.array(y) for y in (dense(x), embedding(ids), embedding(x, reverse=True))]
    for plain, eight, again in zip(before, inside, after, strict=True):
        assert plain.shape == eight.shape and (plain == again).all() and (plain != eight).any()
        assert np.abs(plain - eight).max() < 0.03 * np.abs(plain).max()
