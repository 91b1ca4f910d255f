"""What `finetune` and `evaluate` print of a model, on 80 columns."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from zoo.cli.report import NARROWEST, show


def shown(report, width=80):
    file = StringIO()
    show(report, Console(file=file, width=width, highlight=False, markup=False))
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert max(map(len, lines)) <= max(width, NARROWEST)
    return lines


def of_classes(count, letters=8):
    names = [f"label_{number}".ljust(letters, "x") for number in range(count)]
    scores = {"precision": 0.5, "recall": 1.0, "f1": 0.66667, "support": 3, "predicted": 6}
    counts = [[3 if row == column else 0 for column in range(count)] for row in range(count)]
    return names, dict.fromkeys(names, scores), {"labels": names, "counts": counts}


def test_metrics():
    assert shown({"accuracy": 0.93333, "f1": [0.5, 1.0]}) == ["  accuracy 0.9333", "  f1 0.5000, 1.0000"]


def test_classes_and_answers():
    _, classes, confusion = of_classes(8)
    confusion["counts"][2][5] = 14
    lines = shown({"classes": classes, "confusion": confusion})
    assert [line.split() for line in lines if line.startswith("  label_2")] == [
        ["label_2x", "0.50", "1.00", "0.67", "3"]
    ]
    assert ["3", "label_2x", ".", ".", "3", ".", ".", "14", ".", "."] in [line.split() for line in lines]


@pytest.mark.parametrize("letters", [8, 60])
def test_many_labels(letters):
    """The labels with the lowest F1, and the pairs that are confused most often."""
    names, classes, confusion = of_classes(77, letters)
    classes = classes | {names[50]: classes[names[50]] | {"f1": 0.25, "precision": 0.25}}
    confusion["counts"][2][5], confusion["counts"][40][41] = 2, 9
    lines = shown({"classes": classes, "confusion": confusion})
    assert "by label, the 20 of 77 with the lowest F1" in lines
    first = next(line for line in lines if line.startswith("  label_"))
    assert first.split()[1:] == ["0.25", "1.00", "0.25", "3"]
    place = lines.index("most often confused")
    assert [line.split()[-1] for line in lines[place:] if line.startswith("  label_")] == ["9", "2"]


def test_pairs_of_a_report_of_very_many_labels():
    pairs = [{"label": f"right_{n}", "predicted": f"other_{n}", "count": 30 - n} for n in range(20)]
    lines = shown({"confusion": {"pairs": pairs}})
    rows = [line.split() for line in lines if line.startswith("  right_")]
    assert lines[1] == "most often confused" and len(rows) == 10 and rows[0] == ["right_0", "other_0", "30"]
    assert not any("right_" in line for line in shown({"confusion": {"pairs": []}}))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"text": "a\nlong " + "text " * 30, "label": "x", "predicted": "y", "probability": 0.987},
            ["a long text", "0.99"],
        ),
        (
            {"text": "a", "text_pair": "b", "label": ["x", "z"], "predicted": [], "probability": 1.0},
            ["a / b", "x, z", "none"],
        ),
        ({"text": "a", "label": 4.5, "predicted": 1.25, "error": 3.25}, ["4.50", "1.25", "3.25"]),
        (
            {"text": "a", "label": ["Ann Lee [person]"], "predicted": ["Ann [place]"], "wrong": 2},
            ["Ann Lee [person]", "2"],
        ),
        ({"text": "a", "label": "l" * 70, "predicted": "p" * 70, "score": 0.5}, ["llll", "pppp", "0.50"]),
    ],
)
def test_worst_answers(row, expected):
    (line,) = [line for line in shown({"worst": [row] * 1}) if line.startswith("  a")]
    assert all(part in line for part in expected), line
    assert len([line for line in shown({"worst": [row] * 9}) if line.startswith("  a")]) == 5


def test_labels_and_texts_can_be_read_where_the_terminal_is_narrow():
    _, classes, _ = of_classes(3)
    worst = [{"text": "a long text of words", "label": "label_1x", "predicted": "label_2x", "probability": 0.987}]
    lines = shown({"classes": classes, "worst": worst}, width=30)
    assert lines == shown({"classes": classes, "worst": worst}, width=NARROWEST)
    assert all(any(line.startswith(begin) for line in lines) for begin in ("  label_1x", "  a long text"))


def test_nothing_wrong():
    assert shown({"accuracy": 1.0, "worst": []}) == ["  accuracy 1.0000"]
