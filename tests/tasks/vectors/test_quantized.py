"""Vectors of few bits, and searches in them, beside plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.tasks.vectors import corpus_vectors
from keras_transformers.tasks.vectors.quantized import PRECISIONS, quantize, restored, vector_ranges
from keras_transformers.tasks.vectors.search import search


def vectors(count: int = 200, dim: int = 19, seed: int = 0) -> np.ndarray:
    found = np.random.default_rng(seed).normal(size=(count, dim)).astype("float32")
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def no_texts(texts, batch_size):
    raise AssertionError("vectors were given")


def find(queries, corpus, **options):
    return search(no_texts, queries, corpus, **options)


@pytest.mark.parametrize("precision", ["int8", "uint8"])
def test_numbers_are_restored_to_a_255th_of_their_range(precision):
    given = vectors()
    ranges = vector_ranges(given)
    steps = (ranges[1] - ranges[0]) / 255
    assert (np.abs(restored(quantize(given, precision, ranges), ranges) - given) <= steps * 1.001).all()


@pytest.mark.parametrize("precision", ["int8", "uint8"])
def test_a_search_in_8_bits_is_by_the_restored_numbers(precision, monkeypatch):
    monkeypatch.setattr(corpus_vectors, "BLOCK", 19 * 30)  # several blocks
    queries, corpus = vectors(5, seed=1), vectors()
    ranges = vector_ranges(corpus)
    short = quantize(corpus, precision, ranges)
    meant = restored(short, ranges)
    scores = queries @ (meant / np.linalg.norm(meant, axis=1, keepdims=True)).T
    for row, expected in zip(find(queries, short, ranges=ranges, top=7), scores, strict=True):
        assert [hit["index"] for hit in row] == np.argsort(-expected, kind="stable")[:7].tolist()
        assert [hit["score"] for hit in row] == pytest.approx(np.sort(expected)[::-1][:7], abs=1e-5)


@pytest.mark.parametrize("precision", ["binary", "ubinary"])
@pytest.mark.parametrize("multiplier", [1, 3, 1000])
def test_a_search_in_bits_compares_candidates_with_the_floats_of_the_query(precision, multiplier):
    queries, corpus = vectors(5, seed=1), vectors()
    signs = np.where(corpus > 0, 1, -1)
    found = find(queries, quantize(corpus, precision), top=4, rescore_multiplier=multiplier)
    for row, query in zip(found, queries, strict=True):
        differing = (signs != np.where(query > 0, 1, -1)).sum(axis=1)
        candidates = np.sort(np.argsort(differing, kind="stable")[: 4 * multiplier])
        scores = signs[candidates] @ query / 19**0.5
        order = np.argsort(-scores, kind="stable")[:4]
        assert [hit["index"] for hit in row] == candidates[order].tolist()
        assert [hit["score"] for hit in row] == pytest.approx(scores[order], abs=1e-5)


def test_rescoring_finds_more_of_the_true_neighbours():
    queries, corpus = vectors(40, 64, seed=1), vectors(2000, 64)
    true = [{hit["index"] for hit in row} for row in find(queries, corpus, top=10)]

    def recall(precision, **options):
        found = find(queries, quantize(corpus, precision), top=10, **options)
        return np.mean(
            [len({hit["index"] for hit in row} & wanted) / 10 for row, wanted in zip(found, true, strict=True)]
        )

    ranges = {"ranges": vector_ranges(corpus)}
    assert recall("int8", **ranges) > 0.9 > recall("binary") > recall("binary", rescore_multiplier=1) + 0.05


@pytest.mark.parametrize("precision", PRECISIONS)
def test_no_vectors(precision):
    width = 3 if precision.endswith("binary") else 19
    assert quantize(np.zeros((0, 19), "float32"), precision).shape == (0, width)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((vectors(), "int4"), "precision must be one of"), ((vectors(), ["int8"]), "precision must be one of"),
        ((vectors(), "binary", np.zeros((2, 19))), "ranges are for int8 and uint8"),
        ((vectors(1), "int8"), "of at least 2 texts, better of 1,000: received 1. Give ranges="),
        ((vectors(), "int8", np.zeros((2, 3))), r"finite floats \(2, 19\), of `vector_ranges`: received float64, sh"),
        ((vectors(), "int8", np.array([[1.0] * 19, [0.0] * 19])), "the least and the greatest value"),
        ((vectors(), "int8", np.full((2, 19), np.nan)), "the least and the greatest value"),
        ((vectors(), "int8", np.array([[-np.inf] * 19, [np.inf] * 19])), "finite floats"),
        ((vectors(), "int8", [[0.0], [1.0, 2.0]]), "finite floats"), (([[0.0], [1.0, 2.0]], "int8"), "expected finite"),
        ((np.full((2, 19), 1e300), "float32"), "expected finite"),
        ((vectors(), np.array(["int8"] * 2)), "precision must"),
        ((np.full((2, 19), np.inf, "float16"), "int8"), "expected finite"),
        ((np.array([[np.nan]]), "int8"), "expected finite float vectors"), ((np.ones(2), "int8"), "expected finite"),
        ((quantize(vectors(), "binary"), "binary"), "expected finite float vectors .* received int8"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        quantize(*arguments)


SHORT = quantize(vectors(), "int8")


@pytest.mark.parametrize(
    ("queries", "corpus", "options", "message"),
    [
        (vectors(1), SHORT, {}, "ranges=, from `vector_ranges`, are needed .* received none"),
        (vectors(1), quantize(vectors(), "binary"), {"ranges": vector_ranges(vectors())}, "a corpus of bits"),
        (vectors(1), vectors(), {"ranges": vector_ranges(vectors())}, "a corpus of float32"),
        (vectors(1), SHORT[:, :7], {}, "vectors of 19 numbers, the corpus of 7: .* for binary vectors 3 bytes"),
        (["a"], ["b"], {"ranges": vector_ranges(vectors())}, "some for a corpus of texts"),
        (np.zeros((1, 0)), np.zeros((1, 0), np.int8), {}, "queries|corpus: expected texts"),
        (SHORT, SHORT, {}, r"queries: expected texts, or float vectors \(N, D\); received shape \(200, 19\), int8"),
        (vectors(1), SHORT.astype("int32"), {}, "corpus: expected texts"),
        (vectors(1), quantize(vectors(), "binary"), {"rescore_multiplier": 0}, "rescore_multiplier must be at least 1"),
    ],
)  # fmt: skip
def test_what_a_search_refuses(queries, corpus, options, message):
    with pytest.raises(ValueError, match=message):
        find(queries, corpus, **options)


def test_vectors_of_float16_are_compared_in_float32():
    """Of zeros too, whose length is limited by a number that float16 does not have."""
    queries, corpus = vectors(3, seed=1), vectors()
    corpus[7] = 0
    expected = find(queries.astype("float16").astype("float32"), corpus.astype("float16").astype("float32"), top=200)
    assert find(queries.astype("float16"), corpus.astype("float16"), top=200) == expected
