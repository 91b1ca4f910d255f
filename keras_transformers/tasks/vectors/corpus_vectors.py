"""The vectors of a collection, float32 or of few bits, and the nearest of them to queries."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from keras_transformers.tasks.vectors.quantized import restored, unsigned
from keras_transformers.tasks.vectors.similarities import BLOCK, Similarity, find_similarity

BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1).astype(np.uint8)  # their bits


class CorpusVectors(Protocol):
    """The vectors of N texts, as they are stored."""

    def nearest(self, wanted: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest texts to queries.

        Args:
            wanted: float32 (Q, D), as the similarity prepares them.
            top: Number of results, at most N.

        Returns:
            Their numbers (Q, top), the nearest first and equally near ones ascending; and their similarities (Q, top).
        """
        ...


class FloatVectors:
    """Vectors of floats (N, D), as the similarity prepares them."""

    def __init__(self, vectors: np.ndarray, similarity: Similarity):
        self.vectors, self.similarity = vectors, similarity

    def nearest(self, wanted: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        return in_order(self.similarity.matrix(wanted, self.vectors), top)


class ScalarVectors:
    """Vectors of 8 bits a number, int8 or uint8 (N, D); the represented values are compared with the floats of a query.

    Args:
        vectors: As `quantize` makes them.
        ranges: (2, D), by which they were quantized.
        similarity: Similarity by which vectors are compared.
    """

    def __init__(self, vectors: np.ndarray, ranges: np.ndarray, similarity: Similarity):
        self.vectors, self.ranges, self.similarity = vectors, ranges, similarity

    def nearest(self, wanted: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        size = max(BLOCK // self.vectors.shape[1], 1)
        blocks = (self.vectors[start : start + size] for start in range(0, len(self.vectors), size))
        prepare, matrix = self.similarity.prepare, self.similarity.matrix
        scores = [matrix(wanted, prepare(restored(block, self.ranges))) for block in blocks]
        return in_order(np.concatenate(scores, axis=1), top)


class BinaryVectors:
    """Vectors of one bit a number, int8 or uint8 (N, D / 8 rounded up).

    The candidates are those with the most bits in common with a query's own; among them, the floats of the query are
    compared with 1 and -1. Paper: Yamada et al. 2021, "Efficient Passage Retrieval with Hashing",
    https://arxiv.org/abs/2106.00882.

    Args:
        vectors: As `quantize` makes them.
        rescore_multiplier: Candidates for each text that is wanted.
    """

    def __init__(self, vectors: np.ndarray, rescore_multiplier: int):
        self.bits = unsigned(vectors) if vectors.dtype == np.int8 else vectors
        self.rescore_multiplier = rescore_multiplier

    def nearest(self, wanted: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        found = [self._nearest(query, top) for query in wanted]
        return np.stack([places for places, _ in found]), np.stack([scores for _, scores in found])

    def _nearest(self, query: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        differing = BYTES[self.bits ^ np.packbits(query > 0)].sum(axis=1, dtype=np.int32)  # (N,)
        count = min(top * self.rescore_multiplier, len(self.bits))
        candidates = np.sort(in_order(-differing[None], count)[0][0])  # (C,)
        ones = np.unpackbits(self.bits[candidates], axis=1)[:, : len(query)].astype(np.float32)  # (C, D)
        cosines = (2 * ones - 1) @ query / np.float32(len(query) ** 0.5)  # (C,)
        order, scores = in_order(cosines[None], top)
        return candidates[order[0]], scores[0]


def corpus_vectors(
    vectors: np.ndarray, dim: int, ranges: Any, rescore_multiplier: int, similarity: str = "cosine"
) -> CorpusVectors:
    """Return the vectors of a collection by their dtype and width.

    Args:
        vectors: Floats (N, D), as the similarity prepares them; or int8 or uint8, as `quantize` makes them.
        dim: Numbers of a query's vector, D.
        ranges: Value ranges of 8-bit vectors, of shape (2, D); None for other precisions.
        rescore_multiplier: As for `BinaryVectors`.
        similarity: The name of one of `similarities.SIMILARITIES`.

    Raises:
        ValueError: They have another width, ranges are missing or too many, or bits are to be compared otherwise than
            by the cosine.
    """
    width, is_float = vectors.shape[1], vectors.dtype.kind == "f"
    is_binary = not is_float and width == -(-dim // 8) != dim
    if width != dim and not is_binary:
        raise ValueError(
            f"queries have vectors of {dim} numbers, the corpus of {width}: expected vectors of the same model, or "
            f"for binary vectors {-(-dim // 8)} bytes."
        )
    is_scalar = not is_float and not is_binary
    check_has_ranges(is_scalar, "bits" if is_binary else vectors.dtype, ranges)
    if is_binary and similarity != "cosine":
        raise ValueError(
            f"vectors of one bit a number are compared by the cosine: received similarity={similarity!r}. Search "
            'float32 or int8 vectors, or load the model with similarity="cosine".'
        )
    if is_binary:
        return BinaryVectors(vectors, rescore_multiplier)
    found = find_similarity(similarity)
    return ScalarVectors(vectors, ranges, found) if is_scalar else FloatVectors(vectors, found)


def check_has_ranges(needed: bool, kind: Any, ranges: Any) -> None:
    """Refuse a corpus of 8 bits a number without ranges, and one of another kind with some."""
    if needed != (ranges is not None):
        received = "none" if ranges is None else f"some for a corpus of {kind}"
        raise ValueError(
            f"ranges=, from `vector_ranges`, are needed to decode an int8 or uint8 corpus: received {received}. Give "
            "the ranges that quantized it; for other vectors, leave ranges out."
        )


def in_order(scores: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places (Q, top) of the highest scores (Q, N) of each row, of equal ones the first; and the scores.

    Example:

    >>> [array.tolist() for array in in_order(np.array([[1, 5, 2, 5]]), 3)]
    [[[1, 3, 2]], [[5, 5, 2]]]
    """
    least = np.partition(scores, -top, axis=1)[:, -top, None]  # (Q, 1)
    better, equal = scores > least, scores == least  # (Q, N) each
    room = top - better.sum(axis=1, keepdims=True)  # (Q, 1)
    chosen = better | (equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= room))
    best = chosen.nonzero()[1].reshape(-1, top)  # (Q, top), ascending
    found = np.take_along_axis(scores, best, axis=1)  # (Q, top)
    order = np.argsort(-found, axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1), np.take_along_axis(found, order, axis=1)
