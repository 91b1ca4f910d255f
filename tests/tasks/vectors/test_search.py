"""Search: the order of equal scores, and what is taken for texts and for vectors."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.tasks.vectors.search import search


def embed(texts, batch_size):
    """The length of a text as an angle."""
    angles = np.array([len(text) for text in texts], "float32")
    return np.stack([np.cos(angles / 9), np.sin(angles / 9)], axis=1)


def places(corpus, top):
    return [[hit["index"] for hit in row] for row in search(embed, ["aaa", ""], corpus, top=top)]


def test_equal_scores_come_in_the_order_of_the_corpus():
    assert places(["a"] * 100, 5) == [[0, 1, 2, 3, 4]] * 2
    corpus = ["aaa", "a"] * 50
    assert places(corpus, 52) == [[*range(0, 100, 2), 1, 3], [*range(1, 100, 2), 0, 2]]


@pytest.mark.parametrize("top", [1, 7, 60, 100])
def test_the_best_are_those_of_a_stable_sort(top):
    vectors = np.random.default_rng(top).integers(-2, 3, (60, 2)).astype("float32") + 0.5
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    wanted = embed(["aaa"], 1)
    expected = np.argsort(-(wanted @ unit.T)[0], kind="stable")[:top].tolist()
    assert [hit["index"] for hit in search(embed, wanted, vectors, top=top)[0]] == expected


def strings_of_numpy_2(texts):
    return np.array(texts, getattr(np.dtypes, "StringDType", lambda: object)())


@pytest.mark.parametrize("kind", [np.array, iter, tuple, lambda texts: np.array(texts, object), strings_of_numpy_2])
def test_texts_of_any_kind(kind):
    (row,) = search(embed, kind(["aaa"]), kind(["a", "aaa", "aaaa"]), top=2)
    assert [(hit["index"], hit["text"]) for hit in row] == [(1, "aaa"), (2, "aaaa")]


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (5, "Expected a list of str for `corpus`, received int"), (np.array(5), r"float vectors \(N, D\)"),
        (iter([]), "the corpus is empty"), ([["a"]], "received list at row 0"),
        (np.array([[1, 0], [np.nan, 1]]), "row 1 of 2 vectors is not finite"),
    ],
)  # fmt: skip
def test_what_is_refused(corpus, message):
    with pytest.raises(ValueError, match=message):
        search(embed, ["a"], corpus)
