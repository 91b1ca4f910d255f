"""Search a collection of texts by their vectors, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from itertools import chain
from typing import Any

import numpy as np

from keras_transformers.tasks.answers.services import check_counts
from keras_transformers.tasks.vectors.corpus_vectors import check_has_ranges, corpus_vectors
from keras_transformers.tasks.vectors.similarities import BLOCK, Similarity, find_similarity
from keras_transformers.utils.text_checks import check_texts


def search(
    embed: Callable[..., np.ndarray],
    queries: Sequence[str] | np.ndarray,
    corpus: Sequence[str] | np.ndarray,
    *,
    top: int = 10,
    batch_size: int = 32,
    ranges: np.ndarray | None = None,
    rescore_multiplier: int = 4,
    embed_corpus: Callable[..., np.ndarray] | None = None,
    similarity: str = "cosine",
) -> list[list[dict[str, Any]]]:
    """Return the texts of a collection that are nearest to each query, by the similarity of their vectors.

    Args:
        embed: Function from texts to vectors (N, D).
        queries: Texts, or their vectors (Q, D).
        corpus: Texts, or their vectors (N, D) from `embed`, to search one collection many times; float, or of few bits
            as `tasks.vectors.quantized.quantize` makes them.
        top: The most texts for a query.
        batch_size: Texts that are embedded at a time.
        ranges: (2, D), by which a corpus of int8 or uint8 was quantized.
        rescore_multiplier: For a corpus of bits, the candidates for each text that is wanted: those with the most bits
            in common with the query. They are compared with the floats of the query.
        embed_corpus: As `embed`, for the texts of the corpus; `embed` itself when None.
        similarity: `"cosine"`; `"dot"`, the dot product; or `"euclidean"` or `"manhattan"`, minus the distance.

    Returns:
        For each query a list of dicts, the nearest first, equally near ones in the order of the corpus: `index` in the
        corpus, `score` (the similarity) and, of texts, `text`.

    Raises:
        ValueError: The corpus is empty, `top` is below 1, vectors are not finite, queries and corpus have vectors of
            different sizes, `ranges` are missing, or there is no such similarity.

    Example:

    >>> letters = lambda texts, batch_size: np.array([[text.count(letter) for letter in "ab"] for text in texts], float)
    >>> search(letters, ["aab"], ["bb", "ab"], top=1)
    [[{'index': 1, 'score': 0.948..., 'text': 'ab'}]]
    """
    (rescore_multiplier,) = check_counts(rescore_multiplier=rescore_multiplier)
    corpus, queries = _texts_or_vectors("corpus", corpus, True), _texts_or_vectors("queries", queries)
    top, compared = check_search(corpus, top, similarity)
    if isinstance(corpus, list):
        check_has_ranges(False, "texts", ranges)
    documents = _vectors(embed_corpus or embed, corpus, batch_size, compared)  # (N, D)
    wanted = _vectors(embed, queries, batch_size, compared)  # (Q, D)
    vectors = corpus_vectors(documents, wanted.shape[1], ranges, rescore_multiplier, similarity)
    step = max(BLOCK // len(documents), 1)
    rows: list[tuple[list[int], list[float]]] = []
    for start in range(0, len(wanted), step):
        rows += zip(*(found.tolist() for found in vectors.nearest(wanted[start : start + step], top)), strict=True)
    return hits(rows, [] if isinstance(corpus, np.ndarray) else corpus)


def check_search(corpus: Sized, top: Any, similarity: Any) -> tuple[int, Similarity]:
    """Return how many texts a query gets, at most the size of the corpus, and the similarity by its name.

    Raises:
        ValueError: The corpus is empty, `top` is below 1, or there is no such similarity.
    """
    (top,) = check_counts(top=top)
    if not len(corpus):
        raise ValueError("the corpus is empty: expected at least one text or vector to search.")
    return min(top, len(corpus)), find_similarity(similarity)


def hits(rows: Iterable[tuple[list[int], list[float]]], texts: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return what `search` returns, from the numbers of the nearest texts and their similarities for each query.

    Args:
        rows: Numbers and similarities, for each query.
        texts: Texts of the corpus; none if its vectors were given.
    """
    found: list[list[dict[str, Any]]] = [
        [{"index": index, "score": score} for index, score in zip(*row, strict=True)] for row in rows
    ]
    if len(texts):
        for result in chain.from_iterable(found):
            result["text"] = texts[result["index"]]
    return found


def _texts_or_vectors(name: str, given: Any, may_be_short: bool = False) -> list[str] | np.ndarray:
    """Return a list of texts, or an array of vectors, of floats or perhaps of few bits."""
    if not isinstance(given, np.ndarray) or given.dtype.kind in "OUT":
        return check_texts(name, given)
    is_known = given.dtype.kind == "f" or (may_be_short and given.dtype in (np.int8, np.uint8))
    if given.ndim != 2 or not given.shape[1] or not is_known:
        raise ValueError(
            f"{name}: expected texts, or float vectors (N, D); received shape {given.shape}, {given.dtype}."
        )
    return given


def _vectors(
    embed: Callable[..., np.ndarray], given: list[str] | np.ndarray, batch_size: int, similarity: Similarity
) -> np.ndarray:
    """Return the vectors of the texts (N, D): floats as the similarity prepares them, quantized vectors as they are."""
    vectors = given if isinstance(given, np.ndarray) else embed(given, batch_size=batch_size)
    if vectors.dtype.kind != "f":
        return vectors
    if not np.isfinite(vectors).all():
        raise ValueError(f"row {np.isfinite(vectors).all(axis=1).argmin()} of {len(vectors)} vectors is not finite.")
    return similarity.prepare(vectors)
