"""Sparse vectors in memory: rows, checks, and the nearest ones, beside dense arithmetic."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from keras_transformers.tasks.vectors.similarities import find_similarity
from keras_transformers.tasks.vectors.sparse_vectors import SparseVectors, as_sparse, nearest

RANDOM = np.random.default_rng(0)


def of_dense(vectors: np.ndarray) -> SparseVectors:
    rows = [(row.nonzero()[0], row[row.nonzero()]) for row in vectors]
    return SparseVectors.of_rows(rows, vectors.shape[1])


def some(count: int, width: int = 12) -> np.ndarray:
    vectors = RANDOM.random((count, width), np.float32)
    return np.where(vectors > 0.6, vectors, 0.0).astype(np.float32)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_rows(count):
    vectors = some(count)
    sparse = of_dense(vectors)
    assert len(sparse) == count and len([*sparse]) == count
    np.testing.assert_array_equal(sparse.dense(), vectors)
    if count:
        ids, weights = sparse[-1]
        np.testing.assert_array_equal(vectors[-1][ids], weights)
    with pytest.raises(IndexError):
        sparse[count]


@pytest.mark.parametrize("similarity", ["dot", "cosine", "euclidean", "manhattan"])
def test_nearest_as_of_dense_vectors(similarity):
    queries, corpus = some(4), some(9)
    corpus[3], queries[1] = 0, 0  # vectors of zeros
    compared = find_similarity(similarity)
    expected = compared.matrix(compared.prepare(queries), compared.prepare(corpus))
    for (places, scores), row in zip(
        nearest(of_dense(queries), of_dense(corpus), 9, similarity), expected, strict=True
    ):
        np.testing.assert_allclose(scores, row[places], atol=1e-6)
        assert sorted(places) == [*range(9)] and scores == sorted(scores, reverse=True)


def test_matrices_of_scipy():
    scipy = pytest.importorskip("scipy.sparse")
    vectors = some(5)
    matrix = scipy.csr_matrix(vectors)
    sparse = as_sparse("corpus", matrix)
    np.testing.assert_array_equal(sparse.dense(), vectors)
    made = scipy.csr_matrix((sparse.data, sparse.indices, sparse.indptr), sparse.shape)
    assert (made != matrix).nnz == 0
    with pytest.raises(ValueError, match=r"corpus has the sparse format 'coo': expected csr\. Call its tocsr\(\)"):
        as_sparse("corpus", matrix.tocoo())
    assert as_sparse("corpus", ["a text"]) is as_sparse("corpus", vectors) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"indices": [0, 9]}, r"ids of tokens must be in \[0, 3\): received 0 to 9"),
        ({"indices": [-1, 0]}, "ids of tokens"),
        ({"indices": [0]}, "need data"),
        ({"data": [1.0, np.nan]}, "row 1 of 2 sparse vectors has a weight that is not finite"),
        ({"indptr": [0, 2]}, "need data"),
        ({"indptr": [0, 3, 2]}, "indptr must rise from 0 to 2"),
        ({"indptr": [0, 1, 1]}, "indptr must rise from 0 to 2"),
        ({"shape": (2,)}, "need data"),
    ],
)
def test_arrays_that_do_not_belong_together(change, said):
    arrays = {"data": [1.0, 2.0], "indices": [0, 2], "indptr": [0, 1, 2], "shape": (2, 3)}
    parts = {name: value if name == "shape" else np.array(value) for name, value in (arrays | change).items()}
    with pytest.raises(ValueError, match=said):
        as_sparse("queries", SimpleNamespace(**parts))
