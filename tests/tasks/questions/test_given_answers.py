"""Answers in a text: the forms that are read, their places, and their tokens in windows."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.data.sources.rows import Rows
from keras_transformers.tasks.questions.given_answers import (
    AnswerSpans,
    answer_targets,
    context_tokens,
    misplaced,
    read_answers,
)
from keras_transformers.text.tokenizer import Tokenizer

CONTEXT = "Bob and Ann-Marie sat in New  York; Bob left."


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (None, []), ([], []), ({}, []), ({"text": [], "answer_start": []}, []), ((3, "x"), [(3, "x")]),
        ([3, "x"], [(3, "x")]),
        ([(3, "x"), (5, "y z")], [(3, "x"), (5, "y z")]), ({"text": ["x"], "answer_start": [3]}, [(3, "x")]),
        ({"text": np.array(["x", "y"]), "answer_start": np.array([3, 4])}, [(3, "x"), (4, "y")]),
        ([{"text": "x", "answer_start": 3}, {"text": "y", "answer_start": 4}], [(3, "x"), (4, "y")]),
    ],
)  # fmt: skip
def test_forms_of_answers(label, expected):
    found = read_answers(label)
    assert found == expected and all(type(start) is int and type(text) is str for start, text in found)


@pytest.mark.parametrize(
    "label",
    [
        "Oslo", 3, ("Oslo", 3), (3, ""), (-1, "x"), (True, "x"), (3.0, "x"), ["Oslo"], {"text": ["x"]}, (3, 4),
        {"text": ["x", "y"], "answer_start": [3]}, {"text": [None], "answer_start": [3]}, (2**40, "x"), [None, 3],
    ],
)  # fmt: skip
def test_forms_that_are_refused(label):
    with pytest.raises(ValueError, match=r"expected answers as .* None where the context has no answer: received"):
        read_answers(label)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((0, "Bob"), ""), ((36, "Bob"), ""),
        ((1, "Bob"), "at character 1 of its context ('ob ' is there), but at 0, 36"),
        ((25, "New York"), "('New  Yor' is there), nor anywhere else"),
        ((99, "Bob"), "('' is there), but at 0, 36"),
    ],
)  # fmt: skip
def test_places(answer, message):
    found = misplaced(CONTEXT, answer)
    assert message in found and bool(message) == bool(found)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train([CONTEXT, "who"], vocabulary_size=40)


def windows_of(tokenizer, max_length=64, stride=4, context=CONTEXT):
    return tokenizer.encode(["who"], [context], max_length, "only_second", stride=stride)


def said(tokenizer, window, target):
    """The characters from the first to the last token of a target."""
    first, last = target.tolist()
    return CONTEXT[window.offsets[first][0] : window.offsets[last][1]]


@pytest.mark.parametrize(
    ("start", "text", "expected"),
    [
        (0, "Bob", "Bob"), (8, "Ann-Marie", "Ann-Marie"), (25, "New  York", "New  York"), (35 - 1, ";", ";"),
        (44, ".", "."), (24, " New", "New"), (8, "Ann-Marie sat ", "Ann-Marie sat"), (36, "Bob left.", "Bob left."),
    ],
)  # fmt: skip
def test_targets_are_the_tokens_of_an_answer(tokenizer, start, text, expected):
    (window,) = windows_of(tokenizer)
    assert CONTEXT.startswith(text, start)
    (target,) = answer_targets([window], (start, text))
    assert said(tokenizer, window, target) == expected
    assert target[0] > 0 and context_tokens(window)[target].all()


def test_a_part_of_a_token_stands_for_all_of_it():
    tokenizer = Tokenizer.train([CONTEXT] * 9, vocabulary_size=200)
    (window,) = windows_of(tokenizer)
    (target,) = answer_targets([window], (26, "ew  Yo"))
    assert said(tokenizer, window, target) == "New  York"


def test_no_answer_and_no_token(tokenizer):
    (window,) = windows_of(tokenizer)
    assert answer_targets([window], None).tolist() == [[0, 0]]
    assert answer_targets([window], (29, " ")).tolist() == [[-1, -1]]  # the second of two spaces


@pytest.mark.parametrize(("max_length", "stride"), [(16, 1), (16, 8), (24, 12), (12, 3)])
def test_windows_without_the_whole_answer_point_to_the_first_token(tokenizer, max_length, stride):
    windows = windows_of(tokenizer, max_length, stride)
    assert len(windows) > 2
    for start, text in [(0, "Bob"), (8, "Ann-Marie"), (36, "Bob left"), (25, "New  York"), (0, CONTEXT)]:
        whole = 0
        for window, target in zip(windows, answer_targets(windows, (start, text)), strict=True):
            places = [place for place, own in zip(window.offsets, context_tokens(window), strict=True) if own]
            holds_it = places[0][0] <= start and places[-1][1] >= start + len(text)
            assert (said(tokenizer, window, target) == text) if holds_it else target.tolist() == [0, 0]
            whole += holds_it
        assert whole > 0 or len(text) > 4


def test_tokens_of_the_context(tokenizer):
    (window,) = tokenizer.encode(["who Bob"], ["Bob left"])
    second = [part == 1 for part in window.encoding.sequence_ids]
    assert context_tokens(window).tolist() == second and 0 < sum(second) < len(second) - 3
    (blank,) = tokenizer.encode(["who"], [" "])
    assert not context_tokens(blank).any()


@pytest.mark.parametrize("labels", [[[1]], [1], [[0, 3]], [[3, 0]], [[0.0, 1.0]], [[0, 1, 2]]])
def test_labels_that_do_not_fit(labels):
    with pytest.raises(ValueError, match="Received label"):
        AnswerSpans().check(Rows.of([[2, 7, 3]], labels=labels))


def test_labels_that_do():
    objective = AnswerSpans(pad_id=9)
    rows = Rows.of([[2, 7, 3], [2, 3]], labels=[[1, 2], [-1, -1]])
    objective.check(rows)
    inputs, labels = objective(rows, 4)
    assert labels.dtype == np.int32 and labels.tolist() == [[1, 2], [-1, -1]]
    assert inputs["token_ids"].tolist() == [[2, 7, 3, 9], [2, 3, 9, 9]]
    assert len(objective(Rows.of([[2, 3]]), 4)) == 1
