"""The report of `tasks.reports.measure` on a terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

CLASSES, PAIRS, WORST = 20, 10, 5  # most lines of each part
LABEL = 24  # most letters of a label
NARROWEST = 60  # least letters of a line: texts and labels can be read
PARTS = ("classes", "confusion", "worst", "answers")


def show(report: dict[str, Any], console: Console) -> None:
    """Print the metrics, the scores by class, the confusions and the worst answers.

    Tables are as wide as the console, and at least `NARROWEST`: a narrower terminal wraps their lines.

    Args:
        report: Result of `measure` or `Task.evaluate`.
        console: The console to print to.
    """
    console.width = max(console.width, NARROWEST)
    for name, value in report.items():
        if name not in PARTS:
            console.print(f"  {name} {_number(value)}")
    for name, table_of in (("classes", _classes), ("confusion", _confusion), ("worst", _worst), ("answers", _answers)):
        if report.get(name):
            title, table = table_of(report[name], console.width)
            console.print(f"\n{title}", table, sep="\n", end="")


def _number(value: Any) -> str:
    return ", ".join(map(_number, value)) if isinstance(value, list) else f"{value:.4f}"


def _classes(classes: dict[str, dict[str, float]], width: int) -> tuple[str, Table]:
    title, rows = "by label", [*classes.items()]
    if len(rows) > CLASSES:
        rows = sorted((row for row in rows if row[1]["support"]), key=lambda row: row[1]["f1"])[:CLASSES]
        title = f"by label, the {len(rows)} of {len(classes)} with the lowest F1"
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("label", no_wrap=True, max_width=width - 44)
    for header in ("precision", "recall", "F1", "texts"):
        table.add_column(header, justify="right", no_wrap=True)
    for name, scores in rows:
        table.add_row(name, *(f"{scores[key]:.2f}" for key in ("precision", "recall", "f1")), str(scores["support"]))
    return title, table


def _confusion(confusion: dict[str, Any], width: int) -> tuple[str, Table]:
    """Return a title and the confusion matrix if it fits, else the pairs that are confused most often."""
    if "pairs" in confusion:
        return _pairs([(pair["label"], pair["predicted"], pair["count"]) for pair in confusion["pairs"]], width)
    labels, counts = confusion["labels"], confusion["counts"]
    names = [f"{number} {label}" for number, label in enumerate(labels, 1)]
    of_names = min(max(map(len, names)), LABEL)
    if 3 + of_names + len(labels) * (2 + max(len(str(max(map(max, counts)))), len(str(len(labels))))) > width:
        return _pairs(_most_often(labels, counts), width)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True, max_width=of_names)
    for number in range(1, len(labels) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    for name, row in zip(names, counts, strict=True):
        table.add_row(name, *(str(count) if count else "." for count in row))
    return "right labels (rows) and answers (columns)", table


def _most_often(labels: list[str], counts: list[list[int]]) -> list[tuple[str, str, int]]:
    """Return the right label, the answer and the number of the confusions in a matrix, the most frequent first."""
    found = [
        (labels[right], labels[answer], count)
        for right, row in enumerate(counts)
        for answer, count in enumerate(row)
        if count and answer != right
    ]
    return sorted(found, key=lambda pair: -pair[2])


def _pairs(pairs: list[tuple[str, str, int]], width: int) -> tuple[str, Table]:
    table = Table(box=box.SIMPLE_HEAD)
    for header in ("right label", "answer"):
        table.add_column(header, no_wrap=True, max_width=(width - 20) // 2)
    table.add_column("times", justify="right")
    for right, answer, count in pairs[:PAIRS]:
        table.add_row(right, answer, str(count))
    return "most often confused", table


def _worst(worst: list[dict[str, Any]], width: int) -> tuple[str, Table]:
    measure = [name for name in worst[0] if name not in ("text", "text_pair", "label", "predicted")]
    table = Table(box=box.SIMPLE_HEAD, width=width)
    table.add_column("text", no_wrap=True, ratio=1)
    for header in ("right", "answered"):
        table.add_column(header, no_wrap=True, max_width=min(LABEL, width // 4))
    for header in measure:
        table.add_column(header, justify="right", no_wrap=True)
    for row in worst[:WORST]:
        text = " / ".join(_words(row[name]) for name in ("text", "text_pair") if name in row)
        table.add_row(text, _words(row["label"]), _words(row["predicted"]), *(f"{row[name]:.2f}" for name in measure))
    return "worst answers", table


def _answers(answers: list[dict[str, str]], width: int) -> tuple[str, Table]:
    table = Table(box=box.SIMPLE_HEAD, width=width)
    for name in ("prompt", "right", "answer"):
        table.add_column(name, no_wrap=True, ratio=1)
    for row in answers:
        table.add_row(*(_words(row[name]) for name in ("prompt", "right", "answer")))
    return "answers", table


def _words(value: Any) -> str:
    """Return a text on one line, labels with commas between them, or a number as text."""
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or "none"
    return " ".join(value.split()) if isinstance(value, str) else f"{value:.2f}"
