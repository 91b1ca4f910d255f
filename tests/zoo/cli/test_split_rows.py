"""Rows to learn from and rows held out."""

from __future__ import annotations

from collections import Counter

import pytest

from zoo.cli.split_rows import split_rows


def labelled(*counts: int):
    labels = [f"label {number}" for number, count in enumerate(counts) for _ in range(count)]
    return {"texts": [f"text {number}" for number in range(len(labels))], "labels": labels}


def split(rows, fraction=0.1, seed=0):
    return split_rows(rows, fraction, seed, rows["labels"])


def test_each_row_is_in_one_part_and_in_order():
    rows = labelled(30, 20)
    learnt, held_out = split(rows)
    assert sorted(learnt["texts"] + held_out["texts"]) == sorted(rows["texts"])
    for part in (learnt, held_out):
        assert [rows["texts"].index(text) for text in part["texts"]] == sorted(map(rows["texts"].index, part["texts"]))
        assert [rows["labels"][rows["texts"].index(text)] for text in part["texts"]] == part["labels"]


@pytest.mark.parametrize(
    ("counts", "held_out"),
    [
        ((30, 20), {"label 0": 3, "label 1": 2}),
        ((3, 2), {"label 0": 1, "label 1": 1}),
        ((100, 2, 1), {"label 0": 10, "label 1": 1}),  # of one row, nothing
        ((2, 1, 1), {"label 0": 1}),
        ((2,) * 40 + (50,), {f"label {number}": 1 for number in range(8)} | {"label 40": 5}),  # not half of the file
    ],
)
def test_each_class_is_in_both_parts(counts, held_out):
    rows = labelled(*counts)
    learnt, found = split(rows)
    assert Counter(found["labels"]) == held_out
    assert {*learnt["labels"]} == {*rows["labels"]}


@pytest.mark.parametrize("counts", [(1,), (1, 1), (1, 1, 1, 1, 1)])
def test_too_few_rows(counts):
    rows = labelled(*counts)
    assert split(rows) == (rows, None)


def test_the_seed_decides():
    rows = labelled(50, 50)
    assert split(rows) == split(rows) != split(rows, seed=1)


def test_equal_texts_stay_together():
    """But for case and spaces, even where their labels differ."""
    rows = labelled(20, 20)
    rows["texts"] = [f"Text {number % 13}" if number % 2 else f"text  {number % 13} " for number in range(40)]
    for seed in range(5):
        learnt, held_out = split(rows, 0.2, seed)
        keys = [{" ".join(text.split()).lower() for text in part["texts"]} for part in (learnt, held_out)]
        assert not keys[0] & keys[1] and len(held_out["texts"]) >= 2


def test_a_text_that_stands_there_often_is_not_held_out_for_one():
    rows = {"texts": ["often"] * 50 + [f"text {number}" for number in range(50)], "labels": ["x"] * 100}
    assert all(len(split(rows, seed=seed)[1]["texts"]) == 10 for seed in range(5))
    only_twice = {"texts": ["often"] * 9 + ["once"], "labels": ["x"] * 10}
    assert split(only_twice)[1]["texts"] == ["once"]


def test_rows_without_classes():
    rows = {"texts": [["a", "b"], ["c"], ["a", "b"], ["d"]], "labels": [["O", "O"], ["O"], ["O", "O"], ["O"]]}
    learnt, held_out = split_rows(rows, 0.25, 0)
    assert len(held_out["texts"]) == 1 and held_out["texts"][0] in (["c"], ["d"])
    pairs = {"texts": ["q1", "q2", "q3", "q4"], "pairs": ["context", "context", "other", "other"]}
    learnt, held_out = split_rows(pairs, 0.25, 0, by="pairs")
    assert not {*learnt["pairs"]} & {*held_out["pairs"]}
