"""Search a collection of texts by their vectors, in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_transformers.tasks.answers.services import check_counts
from keras_transformers.text.text_checks import check_texts

BLOCK = 1 << 24  # the most scores in memory at a time


def search(
    embed: Callable[..., np.ndarray],
    queries: Sequence[str] | np.ndarray,
    corpus: Sequence[str] | np.ndarray,
    *,
    top: int = 10,
    batch_size: int = 32,
) -> list[list[dict[str, Any]]]:
    """Return the texts of a collection that are nearest to each query, by the cosine of their vectors.

    Args:
        embed: From texts to vectors (N, D).
        queries: Texts, or their vectors (Q, D).
        corpus: Texts, or their vectors (N, D) from `embed`, to search one collection many times.
        top: The most texts for a query.
        batch_size: Texts that are embedded at a time.

    Returns:
        For each query a list of dicts, the nearest first, equally near ones in the order of the corpus: `index` in the
        corpus, `score` (the cosine) and, of texts, `text`.

    Raises:
        ValueError: The corpus is empty, `top` is below 1, vectors are not finite, or queries and corpus have vectors of
            different sizes.

    Example:

    >>> letters = lambda texts, batch_size: np.array([[text.count(letter) for letter in "ab"] for text in texts], float)
    >>> search(letters, ["aab"], ["bb", "ab"], top=1)
    [[{'index': 1, 'score': 0.948..., 'text': 'ab'}]]
    """
    (top,) = check_counts(top=top)
    corpus, queries = _texts_or_vectors("corpus", corpus), _texts_or_vectors("queries", queries)
    if not len(corpus):
        raise ValueError("the corpus is empty: expected at least one text or vector to search.")
    documents = _unit_vectors(embed, corpus, batch_size)  # (N, D)
    wanted = _unit_vectors(embed, queries, batch_size)  # (Q, D)
    if wanted.shape[1] != documents.shape[1]:
        raise ValueError(
            f"queries have vectors of {wanted.shape[1]} numbers, the corpus of {documents.shape[1]}: expected those of "
            "one model."
        )
    top, step = min(top, len(documents)), max(BLOCK // len(documents), 1)
    rows: list[tuple[list[int], list[float]]] = []
    for start in range(0, len(wanted), step):
        scores = wanted[start : start + step] @ documents.T  # (q, N)
        best = _best(scores, top)  # (q, top)
        found = np.take_along_axis(scores, best, axis=1)  # (q, top)
        order = np.argsort(-found, axis=1, kind="stable")  # equal scores in the order of the corpus
        rows += zip(*(np.take_along_axis(array, order, axis=1).tolist() for array in (best, found)), strict=True)
    text = {} if isinstance(corpus, np.ndarray) else dict(enumerate(corpus))
    return [
        [{"index": i, "score": score} | ({"text": text[i]} if text else {}) for i, score in zip(*row, strict=True)]
        for row in rows
    ]


def _best(scores: np.ndarray, top: int) -> np.ndarray:
    """Return the indices (Q, top) of the highest scores (Q, N), ascending; of equal scores, the first ones."""
    least = np.partition(scores, -top, axis=1)[:, -top, None]  # (Q, 1)
    better, equal = scores > least, scores == least  # (Q, N) each
    room = top - better.sum(axis=1, keepdims=True)  # (Q, 1)
    chosen = better | (equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= room))
    return chosen.nonzero()[1].reshape(-1, top)


def _texts_or_vectors(name: str, given: Any) -> list[str] | np.ndarray:
    """Return a list of texts, or an array of vectors."""
    if not isinstance(given, np.ndarray) or given.dtype.kind in "OU":
        return check_texts(name, given)
    if given.ndim != 2 or given.dtype.kind != "f":
        raise ValueError(
            f"{name}: expected texts, or float vectors (N, D); received shape {given.shape}, {given.dtype}."
        )
    return given


def _unit_vectors(embed: Callable[..., np.ndarray], given: list[str] | np.ndarray, batch_size: int) -> np.ndarray:
    """Return the vectors of the texts, scaled to length one, (N, D)."""
    vectors = given if isinstance(given, np.ndarray) else embed(given, batch_size=batch_size)
    if not np.isfinite(vectors).all():
        raise ValueError(f"row {np.isfinite(vectors).all(axis=1).argmin()} of {len(vectors)} vectors is not finite.")
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
