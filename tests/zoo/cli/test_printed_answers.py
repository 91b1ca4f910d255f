"""Answers as lines of a file."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from zoo.cli.app import AfterSaving
from zoo.cli.printed_answers import check_out, json_line, written

ANSWERS = [
    {"text": 'a "b",\tc\nd', "label": "x", "probabilities": {"x": 0.123456, "y": 1 / 3}, "labels": ["p", "q"]},
    {"text": "", "label": "y", "probabilities": {"x": 1e-7 / 3, "y": 1.0}, "labels": []},
]


def part_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.partial-{os.getpid()}")


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
            assert len([*csv.reader(part_of(file).open(newline=""))]) == number  # as it is answered
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


@pytest.mark.parametrize(("error", "raised"), [(KeyboardInterrupt, KeyboardInterrupt), (ValueError, AfterSaving)])
def test_a_failure_keeps_the_old_file_and_the_answers_so_far(tmp_path, capsys, error, raised):
    file = tmp_path / "a.csv"
    file.write_text("old")
    with pytest.raises(raised) as told, written(file) as write:
        write(ANSWERS[1])
        raise error
    assert file.read_text() == "old" and part_of(file).read_text().count("\n") == 2
    assert str(part_of(file)) in str(told.value) + capsys.readouterr().err


def test_nothing_is_left_where_there_was_no_answer(tmp_path):
    with pytest.raises(KeyboardInterrupt), written(tmp_path / "a.csv"):
        raise KeyboardInterrupt
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_cannot_be_replaced_is_written_over(tmp_path, monkeypatch):
    """As one that is mounted in a container."""
    file = tmp_path / "a.jsonl"
    file.write_text("old")

    def busy(*_):
        raise OSError("Device or resource busy")

    monkeypatch.setattr("os.rename", busy)
    with written(file) as write:
        write(ANSWERS[0])
    assert json.loads(file.read_text())["label"] == "x" and [*tmp_path.iterdir()] == [file]


def test_a_device_is_written_as_it_is(tmp_path):
    file = tmp_path / "a.jsonl"
    file.symlink_to("/dev/null")
    with written(file) as write:
        write(ANSWERS[0])
    assert file.is_symlink() and [*tmp_path.iterdir()] == [file]


def test_the_permissions_of_the_old_file_stay(tmp_path):
    file = tmp_path / "a.jsonl"
    file.touch(mode=0o600)
    with written(file) as write:
        assert part_of(file).stat().st_mode & 0o777 == 0o600  # before there is an answer in it
        write(ANSWERS[0])
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    file = tmp_path / ("ä" * 124 + ".jsonl")
    check_out(file, None)
    with written(file) as write:
        write(ANSWERS[0])
    assert [*tmp_path.iterdir()] == [file]


def test_a_full_disk_is_told(tmp_path):
    file = tmp_path / "a.jsonl"
    file.symlink_to("/dev/full")
    with pytest.raises(AfterSaving) as told, written(file) as write:
        write(ANSWERS[0])
    assert "there is no space left for it. Make room" in str(told.value.__cause__)


def test_a_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.jsonl").symlink_to(tmp_path / "folder" / "b.jsonl")
    with written(tmp_path / "a.jsonl") as write:
        write(ANSWERS[0])
    assert (tmp_path / "a.jsonl").is_symlink() and (tmp_path / "folder" / "b.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_the_terminal_may_have_another_encoding(monkeypatch, encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", stream)
    with written(None) as write:
        write({"text": "hello 😀"})
    assert json.loads(stream.buffer.getvalue().decode(encoding)) == {"text": "hello 😀"}


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("a.txt", r"\.csv, \.tsv, \.jsonl"),
        ("no/a.csv", "there is no folder"),
        ("rows.csv", "one of the files to read"),
        ("folder.csv", "a folder: expected a file"),
        ("loop.csv", "is no path"),
        ("x" * 252 + ".csv", "is no path"),
    ],
)
def test_what_is_refused(tmp_path, out, message):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "rows.csv").touch()
    with pytest.raises(ValueError, match=message):
        check_out(Path(tmp_path, out), tmp_path / "rows.csv")
