from __future__ import annotations

import json

import numpy as np
import pytest

from keras_transformers.analysis.explorer.page import page
from keras_transformers.analysis.explorer.space import MOST_TEXTS, SHOWN, pack_space, principal_components, space_of
from keras_transformers.analysis.explorer.view import View

TEXTS = ("a fine film", "a dull film", "the long day", "a fine day and a long film")


@pytest.mark.slow  # `embed` traces a graph with a tokenizer inside
def test_vectors_are_those_of_embed_and_results_those_of_search(task):
    subject = task("sentence_embedding")

    space = space_of(subject, "a long film", TEXTS)

    vectors = subject.embed([*TEXTS, "a long film"])
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(space.cosines, vectors @ vectors.T, atol=1e-5)
    (expected,) = subject.search(["a long film"], list(TEXTS), top=len(TEXTS))
    assert [index for index, _ in space.found] == [one["index"] for one in expected]
    assert [score for _, score in space.found] == pytest.approx([one["score"] for one in expected], abs=1e-5)


@pytest.mark.integration
def test_results_are_in_the_order_of_the_last_row_of_the_matrix(task):
    space = space_of(task("sentence_embedding"), "a long film", TEXTS)

    row = space.cosines[-1, :-1]
    assert [index for index, _ in space.found] == np.argsort(-row, kind="stable").tolist()
    assert [score for _, score in space.found] == pytest.approx(sorted(row, reverse=True), abs=1e-6)
    np.testing.assert_allclose(np.diagonal(space.cosines), 1, atol=1e-5)
    assert space.width == 8 and space.points.shape == (5, 2)


def test_the_projection_is_that_of_the_covariance():
    vectors = np.random.default_rng(0).normal(size=(9, 5)) * [5, 1, 3, 0.5, 0.1]

    points, explained = principal_components(vectors)

    sizes, directions = np.linalg.eigh(np.cov(vectors.T))
    expected = (vectors - vectors.mean(0)) @ directions[:, ::-1][:, :2]
    np.testing.assert_allclose(np.abs(points), np.abs(expected), atol=1e-8)  # the sign of a direction is free
    assert explained == pytest.approx(tuple(sizes[::-1][:2] / sizes.sum()))


def test_vectors_that_are_all_the_same_lie_in_one_point():
    points, explained = principal_components(np.ones((3, 4)))

    assert np.abs(points).max() < 1e-12
    assert explained == (0, 0)


@pytest.mark.parametrize(
    ("name", "texts", "message"),
    [
        ("sentence_embedding", ["a film"], f"among 2 to {MOST_TEXTS} texts, one per line: received 1"),
        ("sentence_embedding", ["a film"] * (MOST_TEXTS + 1), f"received {MOST_TEXTS + 1}"),
        ("sentence_embedding", ["a film", "a\x07b"], "text 2 of the search has the control character U\\+0007"),
        (
            "classification",
            ["a film", "a day"],
            "classification gives no vectors to search by: load it with task='sentence_embedding'",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused(task, name, texts, message):
    with pytest.raises(ValueError, match=message):
        space_of(task(name), "a film", texts)


@pytest.mark.integration
def test_a_page_has_the_search_as_data(task):
    subject = task("sentence_embedding")
    view = View("a long film", among="a fine film\n\n </script> \r\n" + "long " * 100)

    space = view.space(subject)
    document = page("a model", view.runs(subject), space=space)

    packed = pack_space(space)
    assert packed["texts"][:2] == ["a fine film", "</script>"]
    assert len(packed["texts"][2]) == SHOWN
    assert "\\u003c/script\\u003e" in document
    assert json.dumps(packed, separators=(",", ":"))[:40].encode() in document.encode()
    assert View("a film").space(subject) is None
