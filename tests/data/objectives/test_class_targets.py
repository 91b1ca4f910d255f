import numpy as np
import pytest

from keras_transformers.data.objectives.class_targets import Classification
from keras_transformers.data.sources.rows import Rows


@pytest.mark.parametrize(
    ("problem", "classes", "labels", "dtype"),
    [
        ("single_label", 3, [2, 0], np.int32),
        ("multi_label", 3, [[1, 0, 1], [0, 0, 0]], np.float32),
        ("regression", 1, [0.5, -3], np.float32),
        ("regression", 2, [[0.5, -3], [1, 2]], np.float32),
    ],
)
def test_labels_travel_with_their_rows(problem, classes, labels, dtype):
    rows = Rows.of([[2, 3], [2, 8, 3]], labels=labels)
    objective = Classification(classes, problem)
    objective.check(rows)
    inputs, out = objective(rows[np.array([1, 0])], 4)
    assert inputs["token_ids"].tolist() == [[2, 8, 3, 0], [2, 3, 0, 0]]
    assert out.dtype == dtype
    np.testing.assert_allclose(out, np.array(labels, dtype)[::-1])


def test_rows_without_labels_give_inputs_only():
    objective, rows = Classification(2, pad_id=9), Rows.of([[2, 3]])
    objective.check(rows)
    (inputs,) = objective(rows, 3)
    assert inputs["token_ids"].tolist() == [[2, 3, 9]]


@pytest.mark.parametrize(
    ("problem", "classes", "labels", "message"),
    [
        ("single_label", 2, [0, 2], "label 2 in row 1: expected a class from 0 to 1"),
        ("single_label", 2, [-1, 0], "label -1 in row 0"),
        ("single_label", 2, [0.0, 1.0], "one whole number per row"),
        ("single_label", 2, ["pos", "neg"], "one whole number per row"),
        ("single_label", 2, [[0], [1]], r"shape \(2, 1\)"),
        ("multi_label", 2, [[0, 1], [0, 2]], r"\[0, 2\] in row 1: expected a number from 0 to 1"),
        ("multi_label", 3, [[0, 1], [0, 1]], r"expected 3 number\(s\) a row"),
        ("regression", 1, [0.0, float("nan")], "label nan in row 1: expected a finite number"),
        ("regression", 2, [0.0, 1.0], r"expected 2 number\(s\) a row"),
    ],
)
def test_labels_out_of_range(problem, classes, labels, message):
    with pytest.raises(ValueError, match=message):
        Classification(classes, problem).check(Rows.of([[1], [2]], labels=labels))


def test_unknown_problem():
    with pytest.raises(ValueError, match="expected one of single_label, multi_label, regression"):
        Classification(2, "multilabel")
