"""Answers as lines of a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from zoo.cli.answers import check_out, json_line, written

ANSWERS = [
    {"text": 'a "b",\tc\nd', "label": "x", "probabilities": {"x": 0.123456, "y": 1 / 3}, "labels": ["p", "q"]},
    {"text": "", "label": "y", "probabilities": {"x": 1e-7 / 3, "y": 1.0}, "labels": []},
]


def test_numbers_have_four_digits():
    answer = {"embedding": np.array([1 / 3, 2e-9 / 3], np.float32), "count": 12345, "found": np.bool_(True), "no": None}
    assert json.loads(json_line(answer)) == {
        "embedding": [0.3333, 6.667e-10],
        "count": 12345,
        "found": True,
        "no": None,
    }


def test_tables_have_a_column_for_each_name(tmp_path):
    file = tmp_path / "answers.csv"
    with written(file) as write:
        for number, answer in enumerate(ANSWERS, 2):
            write(answer)
            assert len([*csv.reader(file.open(newline=""))]) == number  # as it is answered
    first, second = csv.DictReader(file.open(newline="", encoding="utf-8"))
    assert [*first] == ["text", "label", "probabilities.x", "probabilities.y", "labels"]
    assert [*first.values()] == ['a "b",\tc\nd', "x", "0.1235", "0.3333", "p|q"]
    assert [*second.values()] == ["", "y", "3.333e-08", "1.0", ""]


def test_tsv_and_json_lines(tmp_path):
    for name in ("a.tsv", "a.jsonl"):
        with written(tmp_path / name) as write:
            for answer in ANSWERS:
                write(answer)
    assert (tmp_path / "a.tsv").read_text().splitlines()[1] == 'a "b", c d\tx\t0.1235\t0.3333\tp|q'
    assert [json.loads(line)["label"] for line in (tmp_path / "a.jsonl").read_text().splitlines()] == ["x", "y"]


def test_rows_stay_where_the_work_is_interrupted(tmp_path):
    with pytest.raises(KeyboardInterrupt), written(tmp_path / "a.csv") as write:
        write(ANSWERS[1])
        raise KeyboardInterrupt
    assert (tmp_path / "a.csv").read_text().count("\n") == 2


@pytest.mark.parametrize(
    ("out", "message"),
    [("a.txt", r"\.csv, \.tsv, \.jsonl"), ("no/a.csv", "there is no folder"), ("rows.csv", "a file to read")],
)
def test_what_is_refused(tmp_path, out, message):
    (tmp_path / "rows.csv").touch()
    with pytest.raises(ValueError, match=message):
        check_out(Path(tmp_path, out), tmp_path / "rows.csv")
