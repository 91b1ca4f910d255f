"""Search a collection of texts by their vectors, in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_transformers.tasks.serving import check_counts
from keras_transformers.text.checks import check_texts

BLOCK = 1 << 24  # scores that are in memory at a time


def search(
    embed: Callable[..., np.ndarray],
    queries: Sequence[str] | np.ndarray,
    corpus: Sequence[str] | np.ndarray,
    *,
    top: int = 10,
    batch_size: int = 32,
) -> list[list[dict[str, Any]]]:
    """The texts of a collection that are nearest to each query, by the cosine of their vectors.

    Args:
        embed: From texts to vectors (N, D).
        queries: Texts, or their vectors (Q, D).
        corpus: Texts, or their vectors (N, D) as `embed` gives them: to search one collection again and again.
        top: The most texts for a query.
        batch_size: Texts that are embedded at a time.

    Returns:
        For each query a list of dicts, the nearest first: `index` in the corpus, `score` (the cosine) and, of texts,
        `text`.

    Raises:
        ValueError: The corpus is empty, `top` is below 1, or queries and corpus have vectors of different sizes.

    Example:

    >>> letters = lambda texts, batch_size: np.array([[text.count(letter) for letter in "ab"] for text in texts], float)
    >>> search(letters, ["aab"], ["bb", "ab"], top=1)
    [[{'index': 1, 'score': 0.948..., 'text': 'ab'}]]
    """
    (top,) = check_counts(top=top)
    if not len(corpus):
        raise ValueError("the corpus is empty: expected at least one text or vector to search.")
    documents = _vectors(embed, "corpus", corpus, batch_size)  # (N, D)
    wanted = _vectors(embed, "queries", queries, batch_size)  # (Q, D)
    if wanted.shape[1] != documents.shape[1]:
        raise ValueError(
            f"queries have vectors of {wanted.shape[1]} numbers, the corpus of {documents.shape[1]}: expected those of "
            "one model."
        )
    top, step = min(top, len(documents)), max(BLOCK // len(documents), 1)
    rows = []
    for start in range(0, len(wanted), step):
        scores = wanted[start : start + step] @ documents.T  # (q, N)
        best = np.argpartition(-scores, top - 1, axis=1)[:, :top]  # (q, top)
        found = np.take_along_axis(scores, best, axis=1)  # (q, top)
        order = np.lexsort((best, -found), axis=1)  # equal scores in the order of the corpus
        rows += zip(*(np.take_along_axis(array, order, axis=1).tolist() for array in (best, found)), strict=True)
    text = {} if isinstance(corpus, np.ndarray) else dict(enumerate(corpus))
    return [
        [{"index": i, "score": score} | ({"text": text[i]} if text else {}) for i, score in zip(*row, strict=True)]
        for row in rows
    ]


def _vectors(embed: Callable[..., np.ndarray], name: str, texts: Any, batch_size: int) -> np.ndarray:
    """Vectors of length one, (N, D)."""
    if not isinstance(texts, np.ndarray):
        texts = embed(check_texts(name, texts), batch_size=batch_size)
    if texts.ndim != 2 or texts.dtype.kind != "f":
        raise ValueError(
            f"{name}: expected texts, or float vectors (N, D); received shape {texts.shape}, {texts.dtype}."
        )
    return texts / np.maximum(np.linalg.norm(texts, axis=1, keepdims=True), 1e-12)
