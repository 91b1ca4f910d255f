"""Sparse vectors in memory: the tokens with a weight above 0 of each text, and the similarity of texts by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_transformers.tasks.vectors.corpus_vectors import in_order
from keras_transformers.utils.untrusted import shown

ARRAYS = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True)
class SparseVectors:
    """The vectors of N texts as compressed sparse rows (CSR), with the names that scipy has for their parts.

    `scipy.sparse.csr_matrix((vectors.data, vectors.indices, vectors.indptr), vectors.shape)` makes a matrix of them,
    where scipy is installed.

    Args:
        data: The weights, float32 (K,), of one text after the other; here the largest of a text first.
        indices: The id of the token of each weight, int32 (K,).
        indptr: int64 (N + 1,): text n has the weights from `indptr[n]` to before `indptr[n + 1]`.
        shape: N, and the numbers of a vector, V.

    Raises:
        ValueError: The arrays do not belong together, an id is not in [0, V), or a weight is not finite.

    Example:

    >>> vectors = SparseVectors.of_rows([([2, 0], [1.5, 0.5]), ([], [])], 3)
    >>> vectors.shape, vectors.dense().tolist()
    ((2, 3), [[0.5, 0.0, 1.5], [0.0, 0.0, 0.0]])
    >>> ids, weights = vectors[0]
    >>> ids.tolist(), weights.tolist()
    ([2, 0], [1.5, 0.5])
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]

    def __post_init__(self):
        arrays = {name: np.asarray(getattr(self, name)) for name in ARRAYS[:3]}
        for name, array in arrays.items():
            object.__setattr__(self, name, array)
        ends = arrays["indptr"]
        is_flat = all(array.ndim == 1 for array in arrays.values()) and len(self.shape) == 2
        if not is_flat or len(ends) != self.shape[0] + 1 or len(self.data) != len(self.indices):
            sizes = {name: array.shape for name, array in arrays.items()}
            raise ValueError(f"sparse vectors {self.shape} need data (K,), indices (K,), indptr (N + 1,): {sizes}.")
        if ends[0] != 0 or ends[-1] != len(self.data) or (np.diff(ends) < 0).any():
            raise ValueError(f"indptr must rise from 0 to {len(self.data)}, the number of weights.")
        if len(self.indices) and not 0 <= self.indices.min() <= self.indices.max() < self.shape[1]:
            least, most = self.indices.min(), self.indices.max()
            raise ValueError(f"ids of tokens must be in [0, {self.shape[1]}): received {least} to {most}.")
        if not np.isfinite(self.data).all():
            row = np.searchsorted(ends, (~np.isfinite(self.data)).argmax(), side="right") - 1
            raise ValueError(f"row {row} of {len(self)} sparse vectors has a weight that is not finite.")

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[Any, Any]], width: int) -> SparseVectors:
        """Return the vectors of texts, each given as the ids of its tokens and their weights.

        Args:
            rows: For each text.
            width: The numbers of a vector.
        """
        rows = [*rows]
        ids = [np.asarray(ids, np.int32) for ids, _ in rows]
        weights = [np.asarray(weights, np.float32) for _, weights in rows]
        ends = np.cumsum([0, *map(len, ids)], dtype=np.int64)
        none = [np.zeros(0)]
        data, indices = np.concatenate([*weights, *none]), np.concatenate([*ids, *none])
        return cls(data.astype(np.float32), indices.astype(np.int32), ends, (len(rows), width))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids and the weights of a text by its number; a negative one counts from the end."""
        first, end = self.indptr[range(len(self))[number] :][:2]
        return self.indices[first:end], self.data[first:end]

    def dense(self) -> np.ndarray:
        """Return all numbers of the vectors, float32 (N, V)."""
        vectors = np.zeros(self.shape, np.float32)
        np.add.at(vectors, (self.rows, self.indices), self.data)  # an id may stand twice in a row of another program
        return vectors

    @property
    def rows(self) -> np.ndarray:
        """Return the number of the text of each weight, (K,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))


def as_sparse(name: str, given: Any) -> SparseVectors | None:
    """Return sparse vectors, or a matrix of scipy in its format "csr", as sparse vectors; None for anything else.

    Raises:
        ValueError: It is a sparse matrix of another format, or its arrays do not belong together.
    """
    if isinstance(given, SparseVectors):
        return given
    if getattr(given, "format", "csr") != "csr":
        raise ValueError(f"{name} has the sparse format {shown(given.format)}: expected csr. Call its tocsr().")
    if not all(hasattr(given, part) for part in ARRAYS) or isinstance(given, np.ndarray):
        return None
    return SparseVectors(given.data, given.indices, given.indptr, tuple(given.shape))


def nearest(
    wanted: SparseVectors, vectors: SparseVectors, top: int, similarity: str
) -> list[tuple[list[int], list[float]]]:
    """Return the nearest texts of a collection to each query.

    Only weights above 0 are read: a query takes time in proportion to the number of these in the collection.

    Args:
        wanted: Vectors of the queries.
        vectors: Vectors of the collection.
        top: Number of results, at most the number of texts in the collection.
        similarity: As in `tasks.search.search`.

    Returns:
        For each query the numbers of texts, the nearest first and equally near ones ascending; and the similarities.
    """
    rows, ids, weights = vectors.rows, vectors.indices, vectors.data.astype(np.float64)

    def sums(terms: np.ndarray) -> np.ndarray:
        return np.bincount(rows, terms, len(vectors))  # (N,)

    squares = sums(weights**2)
    found = []
    for number in range(len(wanted)):
        query = np.zeros(wanted.shape[1])
        np.add.at(query, wanted[number][0], wanted[number][1])
        scores = sums(weights * query[ids])
        if similarity == "cosine":
            scores /= np.maximum(np.sqrt(squares), 1e-12) * max(np.linalg.norm(query), 1e-12)
        elif similarity == "euclidean":
            scores = -np.sqrt(np.maximum(squares + query @ query - 2 * scores, 0.0))
        elif similarity == "manhattan":  # of tokens that the text lacks the query's weights are left
            scores = -(np.abs(query).sum() + sums(np.abs(weights - query[ids]) - np.abs(query[ids])))
        places, best = in_order(scores[None], top)
        found.append((places[0].tolist(), best[0].astype(np.float32).tolist()))
    return found
