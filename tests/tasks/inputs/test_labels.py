from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.tasks.inputs.labels import make_labels


@pytest.mark.parametrize(
    ("labels", "problem", "message"),
    [
        (None, None, "needs labels"), ("bad", None, "received the str 'bad'"), (0, None, "received 0"),
        ([], None, "at least one"), (["a", "a"], None, "different strings"), (["a", ""], None, "different strings"),
        (2.0, None, "positive number: received 2.0"), (True, None, "received True"),
        (["\ud800", "b"], None, "`labels`: the text at row 0 has the lone surrogate"),
        ({"a", "b"}, None, "a set, which has no order"), ({"a": 0, "b": 2}, None, "a number for each name, 0 to 1"),
        ({"a": 0, "b": 0}, None, "a number for each name"), ({"a": "b", "b": "a"}, None, "a number for each name"),
        ([1, 2], None, "different strings"), (["a"], None, "needs at least two labels"), (2, "ranking", "'ranking'"),
    ],
)  # fmt: skip
def test_labels_that_are_refused(labels, problem, message):
    with pytest.raises(ValueError, match=message):
        make_labels(labels, problem)


def test_names_are_made_for_a_number():
    assert make_labels(np.int64(2), None).names == ("LABEL_0", "LABEL_1")
    assert make_labels(3, "multi_label").names == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert make_labels(["score"], "regression").names == ("score",)


@pytest.mark.parametrize("labels", [{"pos": 1, "neg": 0}, {1: "pos", 0: "neg"}, {"0": "neg", "1": "pos"}], ids=str)
def test_a_dict_of_labels_is_obeyed(labels):
    assert make_labels(labels, None).names == ("neg", "pos")


@pytest.mark.parametrize(
    ("problem", "labels", "expected"),
    [
        ("single_label", ["b", "a"], [1, 0]), ("single_label", [0, 1], [0, 1]),
        ("single_label", (name for name in "ab"), [0, 1]),
        ("multi_label", [["b"], [], ["b", "a"]], [[0, 1], [0, 0], [1, 1]]), ("multi_label", [[0, 1]], [[0, 1]]),
        ("multi_label", [[], []], [[0, 0], [0, 0]]), ("multi_label", [np.array(["b"]), {"a"}], [[0, 1], [1, 0]]),
        ("regression", [[0.5, 1.5]], [[0.5, 1.5]]), ("regression", [["0.5", " 1e1 "], [2, "3"]], [[0.5, 10], [2, 3]]),
        ("regression", np.array(["0.5", "1"]), [0.5, 1]), ("regression", ("0.5", 1), [0.5, 1]),
    ],
)  # fmt: skip
def test_names_to_numbers(problem, labels, expected):
    numbers = make_labels(["a", "b"], problem).to_numbers(labels)
    np.testing.assert_array_equal(numbers, expected)


@pytest.mark.parametrize(
    ("problem", "labels", "message"),
    [
        ("single_label", 5, "a list of labels, one per row: received '5'"),
        ("single_label", "ab", "a label for each text"), ("single_label", ["a", "c"], "unknown label 'c'"),
        ("single_label", ["a", 1], "unknown label 1"), ("multi_label", ["a", "b"], r"pass \[\['a'\]"),
        ("regression", ["1", "x"], "numbers, one for each label a text: received 'x' in row 1"),
        ("regression", ["1", "1,5"], "received '1,5' in row 1"), ("regression", [["1", "2"], ["3", ""]], "in row 1"),
        ("regression", [[1], [1, 2]], r"received '\[\[1\], \[1, 2\]\]'"), ("regression", 5, "a list of labels"),
        ("multi_label", [["a"], "b"], r"pass \[\['b'\]"), ("multi_label", [["a"], None], "row 1 are None: pass "),
    ],
)  # fmt: skip
def test_labels_that_are_none_of_the_names(problem, labels, message):
    with pytest.raises(ValueError, match=message):
        make_labels(["a", "b"], problem).to_numbers(labels)


@pytest.mark.parametrize(
    "labels", [{"a": 0.5, "b": 1}, {"a": 0, "b": "1.5"}, {"a": 0, "b": float("nan")}, {"a": -1, "b": 0}]
)
def test_a_dict_of_labels_has_whole_numbers(labels):
    with pytest.raises(ValueError, match="must have a number for each name, 0 to 1: received"):
        make_labels(labels, None)
    assert make_labels({"a": 1.0, "b": 0}, None).names == ("b", "a")
