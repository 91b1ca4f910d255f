"""Files of texts and labels."""

from __future__ import annotations

import json

import pytest

from zoo.cli.data import Columns, label_names, parse_label, read_labelled, read_texts, requests


@pytest.mark.parametrize("label", [None, 3])
def test_a_row_without_labels_of_several(tmp_path, label):
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": "a", "label": label}))
    with pytest.raises(ValueError, match=f"row 1 .line 1.: {label} is no label for the problem multi_label"):
        read_labelled(tmp_path / "rows.jsonl", Columns(), "multi_label")


@pytest.mark.parametrize(
    ("value", "problem", "expected"),
    [
        ("good", "single_label", "good"),
        (3, "single_label", "3"),
        ("a|b|", "multi_label", ["a", "b"]),
        ("", "multi_label", []),
        (["a"], "multi_label", ["a"]),
        ("-1e3", "regression", -1000.0),
    ],
)
def test_labels_of_each_problem(value, problem, expected):
    assert parse_label(value, problem) == expected


@pytest.mark.parametrize(
    ("value", "problem"),
    [("", "single_label"), (None, "single_label"), ("high", "regression"), ("inf", "regression"), (None, "regression")],
)
def test_what_is_no_label(value, problem):
    with pytest.raises((TypeError, ValueError)):
        parse_label(value, problem)


def test_names_of_labels():
    assert label_names({"labels": ["b", "a", "b"]}, Columns(), "single_label") == ["a", "b"]
    assert label_names({"labels": [["b"], [], ["a", "b"]]}, Columns(), "multi_label") == ["a", "b"]
    assert label_names({"labels": [1.0]}, Columns(label="stars"), "regression") == ["stars"]
    assert label_names({"labels": [1.0]}, Columns(label=2), "regression") == ["score"]


def test_requests_are_arguments_or_a_file(tmp_path):
    assert requests(["a", "b"], None, Columns()).texts == ["a", "b"]
    (tmp_path / "rows.csv").write_text("q,a\nwho,me\n")
    table = requests([], tmp_path / "rows.csv", Columns("q", "a"))
    assert (table.texts, table.pairs) == (["who"], ["me"])


def test_texts_of_a_language_model_are_lines_or_a_column(tmp_path):
    (tmp_path / "lines.txt").write_text("one\n\n two \n")
    assert read_texts(tmp_path / "lines.txt", Columns()).texts == ["one", " two "]
    (tmp_path / "rows.tsv").write_text("one\tnext\n")
    table = read_texts(tmp_path / "rows.tsv", Columns(0, label=1))
    assert (table.texts, table.labels) == (["one"], ["next"])
