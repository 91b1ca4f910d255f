"""Similarities of vectors: the cosine, the dot product, and minus the distance, as sentence-transformers has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformers.checkpoints.settings.sentence_transformers import SIMILARITIES as NAMES
from keras_transformers.training.losses.embedding_losses import cosine
from keras_transformers.utils.tensor_types import Tensor
from keras_transformers.utils.untrusted import shown

BLOCK = 1 << 24  # the most numbers in memory at a time


class Similarity(NamedTuple):
    """A similarity of two vectors: the larger, the nearer.

    Args:
        prepare: Function from vectors (N, D) to the vectors that are compared, float32 or float64.
        matrix: Function from prepared vectors (Q, D) and (N, D) to the similarity of each with each, (Q, N).
        pairwise: Function from tensors (B, D) and (B, D) to the similarity of each pair, (B,).
    """

    prepare: Callable[[np.ndarray], np.ndarray]
    matrix: Callable[[np.ndarray, np.ndarray], np.ndarray]
    pairwise: Callable[[Tensor, Tensor], Tensor]


def find_similarity(name: Any) -> Similarity:
    """Return a similarity by its name.

    Raises:
        ValueError: There is none of this name.

    Example:

    >>> find_similarity("euclidean").matrix(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).tolist()
    [[-5.0]]
    """
    if not isinstance(name, str) or name not in SIMILARITIES:
        raise ValueError(f"similarity must be one of {[*SIMILARITIES]}: received {shown(name)}.")
    return SIMILARITIES[name]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors (N, D) scaled to length one, in float32 or float64; zero vectors stay zero."""
    vectors = _floats(vectors)  # float16 has no 1e-12
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _floats(vectors: np.ndarray) -> np.ndarray:
    """Return vectors in float32 or float64."""
    return vectors.astype(np.float64 if vectors.itemsize > 4 else np.float32, copy=False)


def _products(wanted: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return wanted @ vectors.T


def _euclidean(wanted: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return minus the distances, in float64: in float32 the squares would hide small ones."""
    one, other = wanted.astype(np.float64), vectors.astype(np.float64)
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T  # (Q, N)
    return -np.sqrt(np.maximum(squares, 0.0))


def _manhattan(wanted: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    size = max(BLOCK // vectors.shape[1], 1)
    blocks = [vectors[start : start + size] for start in range(0, len(vectors), size)]
    rows = [np.concatenate([np.abs(block - query).sum(axis=1) for block in blocks]) for query in wanted]
    return -np.stack(rows)


def _dot(one: Tensor, other: Tensor) -> Tensor:
    return ops.sum(one * other, axis=-1)


def _minus_euclidean(one: Tensor, other: Tensor) -> Tensor:
    return -ops.sqrt(ops.sum(ops.square(one - other), axis=-1))


def _minus_manhattan(one: Tensor, other: Tensor) -> Tensor:
    return -ops.sum(ops.abs(one - other), axis=-1)


SIMILARITIES: Mapping[str, Similarity] = dict(zip(NAMES, (
    Similarity(unit, _products, cosine), Similarity(_floats, _products, _dot),
    Similarity(_floats, _euclidean, _minus_euclidean), Similarity(_floats, _manhattan, _minus_manhattan),
), strict=True))  # fmt: skip
