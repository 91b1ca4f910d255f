"""Search results of a sentence encoder, and a map of the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_transformers.analysis.explorer.page_request import check_text
from keras_transformers.analysis.explorer.reading import vectors_of
from keras_transformers.tasks import Task
from keras_transformers.tasks.vectors.search import search

MOST_TEXTS = 40
SHOWN = 300  # characters of a text


class Space(NamedTuple):
    """A query and texts as vectors.

    Args:
        query: The text to search for.
        texts: The texts to search in.
        width: Width of the vectors, D.
        cosines: (N + 1, N + 1), cosines of all texts and, last, the query.
        points: (N + 1, 2), the same texts along the two directions of most variance.
        explained: Shares of the variance along these directions.
        found: Numbers of the texts with their cosines, the nearest first.
    """

    query: str
    texts: tuple[str, ...]
    width: int
    cosines: np.ndarray
    points: np.ndarray
    explained: tuple[float, float]
    found: tuple[tuple[int, float], ...]


def space_of(task: Task, query: str, texts: Sequence[str]) -> Space:
    """Search texts by the vectors of a task, and project these to two dimensions.

    Args:
        task: A task of sentence embeddings.
        query: The text to search for.
        texts: 2 to `MOST_TEXTS` texts to search in.

    Raises:
        ValueError: The task gives no vectors, there are too few texts or too many, or one cannot be read.
    """
    texts = [text.strip() for text in texts]
    if "embed" not in task.parts.attributes:
        raise ValueError(f"{task.name} gives no vectors to search by: load it with task='sentence_embedding'.")
    if not 2 <= len(texts) <= MOST_TEXTS:
        raise ValueError(f"a search is among 2 to {MOST_TEXTS} texts, one per line: received {len(texts)}.")
    for number, text in enumerate([*texts, query], 1):
        check_text(f"text {number} of the search", text)
    vectors = vectors_of(task, [*texts, query])  # (N + 1, D)
    (found,) = search(lambda *_, **__: vectors, vectors[-1:], vectors[:-1], top=len(texts))
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    points, explained = principal_components(unit)
    pairs = tuple((each["index"], each["score"]) for each in found)
    return Space(query, tuple(texts), vectors.shape[1], unit @ unit.T, points, explained, pairs)


def principal_components(vectors: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """Return vectors (N, D) along the two directions of most variance, (N, 2), and the shares of the variance.

    Example:

    >>> points, explained = principal_components(np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0], [6.0, 0.0, 1.0]]))
    >>> np.abs(points).round(3).tolist(), [round(share, 3) for share in explained]
    ([[3.0, 0.0], [0.0, 0.0], [3.0, 0.0]], [1.0, 0.0])
    """
    centred = vectors.astype("float64") - vectors.mean(0, dtype="float64")
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    count = min(2, len(sizes))
    points[:, :count] = left[:, :count] * sizes[:count]
    shares = np.zeros(2)
    shares[:count] = np.square(sizes[:count]) / max(np.square(sizes).sum(), 1e-30)
    return points, (float(shares[0]), float(shares[1]))


def pack_space(space: Space) -> dict[str, Any]:
    """Return a space as JSON values."""
    return {
        "query": _short(space.query),
        "texts": [_short(text) for text in space.texts],
        "width": space.width,
        "cosines": space.cosines.round(4).tolist(),
        "points": space.points.round(5).tolist(),
        "explained": [round(share, 6) for share in space.explained],
        "found": [{"index": index, "score": round(score, 4)} for index, score in space.found],
    }


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
