"""`compare`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from command_line import fail, run

from keras_transformers.analysis.cost import layer_comparison

SMALL = ("compare", "--lengths", "8,16", "--widths", "16,32", "--kernel", "2", "--window", "3")


@pytest.fixture(scope="module")
def remembering() -> Callable[..., layer_comparison.LayerComparison]:
    """Comparisons that share what they have counted: it takes seconds, and each test prints it in its own way."""
    return cache(layer_comparison.LayerComparison)


@pytest.fixture
def lines(remembering, monkeypatch) -> list[str]:
    monkeypatch.setattr(layer_comparison, "LayerComparison", remembering)
    return run(*SMALL, "--markdown").splitlines()


def cells(lines: list[str], *first: str) -> list[str]:
    (found,) = [
        cells
        for cells in ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
        if cells[: len(first)] == list(first)
    ]
    return found[len(first) :]


@pytest.mark.integration
def test_theory_beside_what_is_counted(lines):
    assert cells(lines, "attention", "scores and mixing") == ["T² d", "8,192", "2.00 (2)", "1.00 (1)"]
    assert cells(lines, "attention, window", "scores and mixing") == ["r T d", "8,192", "2.00 (1)", "1.00 (1)"]
    assert cells(lines, "GRU", "multiply-adds") == ["T d²", "24,576", "1.00 (1)", "2.00 (2)"]
    assert cells(lines, "LSTM", "sequential steps") == ["T", "16", "1.00 (1)", "0.00 (0)"]
    assert cells(lines, "Conv1D", "path length") == ["T / k", "15", "1.10 (1)", "0.00 (0)"]
    assert cells(lines, "Conv1D, dilated", "path length") == ["log_k T", "4", "0.42 (log)", "0.00 (0)"]
    assert cells(lines, "SimpleRNN", "activation bytes")[0] == ""


@pytest.mark.integration
def test_where_they_cross(lines):
    assert cells(lines, "attention", "against") == ["d = 16", "d = 32"]
    assert cells(lines, "scores and mixing", "SimpleRNN") == ["16", "32"]
    assert cells(lines, "with projections", "SimpleRNN") == ["always more", "always more"]
    assert cells(lines, "with projections", "LSTM") == ["32", "64"]


@pytest.mark.integration
def test_what_was_counted_is_said(lines):
    text = "\n".join(lines)
    for part in ("T = 16 positions and width d = 16; k = 2, r = 3", "T = 8, 16 and d = 16, 32", "do not grow with T"):
        assert part in text
    assert "\n\n\n" not in text  # paragraphs and tables as Markdown has them


@pytest.mark.integration
def test_the_table_of_a_terminal(lines):
    printed = run(*SMALL)
    assert max(map(len, printed.splitlines())) <= 100
    for row in (line for line in lines if line.startswith("| GRU")):
        for cell in filter(None, (cell.strip() for cell in row.split("|")[2:-1])):
            assert cell in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--lengths", "8;16"), "--lengths must be comma-separated whole numbers: received '8;16'"),
        (("--widths", ""), "--widths must be comma-separated whole numbers"),
        (("--lengths", "8"), "lengths must be two or more different integers from 2"),
        (("--widths", "0,8"), "widths must be two or more different integers from 1"),
        (("--kernel", "1"), "kernel must be an integer from 2: received 1"),
        (("--window", "0"), "window must be an integer from 1: received 0"),
    ],
)
def test_sizes_that_are_none(options, message):
    code, printed = fail("compare", *options)
    assert code == 2 and message in printed
