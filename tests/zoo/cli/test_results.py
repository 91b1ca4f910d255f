"""`results`, and the table of docs/results.md, which is what it prints."""

from __future__ import annotations

import json
import shlex
import statistics
from pathlib import Path

import pytest
from command_line import fail, run
from rich.console import Console

import zoo
from zoo.terminal import console

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "results.md"


@pytest.mark.integration
def test_the_table_of_the_page_is_what_it_prints():
    printed = run("results", "--markdown").strip()
    assert printed in PAGE.read_text(encoding="utf-8"), "put the output of `python -m zoo results --markdown` there"


def test_every_result_is_shown():
    text = run("results")
    found = [name for name in zoo.names() if zoo.describe(name).results]
    assert {"mini_bert_en", "transformer_tiny"} <= set(found)
    markdown = run("results", "--markdown")
    for name in found:
        assert f"`{name}`" in markdown and f"{name}\n" in text
        for result in zoo.describe(name).results:
            assert f"{result.metric} {result.value:.4g}" in markdown and f"`{result.command}`" in markdown


def test_commands_are_whole_lines_and_the_rest_fits_80_columns(monkeypatch):
    monkeypatch.setattr(console, "console", lambda: Console(width=80))
    lines = [line.strip() for line in run("results").splitlines()]
    commands = {f"python {result.command}" for name in zoo.names() for result in zoo.describe(name).results}
    assert commands <= set(lines)
    assert max(len(line) for line in lines if line not in commands) <= 80


def test_some_models():
    lines = run("results", "mini_*", "--markdown").strip().splitlines()
    assert {line.split("|")[1].strip() for line in lines[2:]} == {"`mini_bert_en`"}


def test_a_pattern_without_results():
    code, message = fail("results", "bert_large*")
    assert code == 2 and "nothing was measured with a model named like 'bert_large*'" in message


@pytest.mark.parametrize("name", [name for name in zoo.names() if zoo.describe(name).results])
def test_commands_are_those_that_there_are(name):
    for result in zoo.describe(name).results:
        script, *arguments = result.command.split()
        assert arguments
        if script == "-m":
            assert arguments[:2] in (["zoo", verb] for verb in ("train", "evaluate", "finetune"))
        else:
            assert script.startswith("benchmarks/") and (ROOT / script).is_file()


def test_results_are_means_of_the_log():
    """Each figure of `benchmarks/encoder_tasks.py` is the mean of its runs in the log; so are minutes, and spreads."""
    log = (ROOT / "benchmarks" / "encoder_tasks.jsonl").read_text(encoding="utf-8").splitlines()
    found = 0
    for name in zoo.names():
        for result in zoo.describe(name).results:
            if not result.command.startswith("benchmarks/encoder_tasks.py"):
                continue
            words = shlex.split(result.command)
            data, model = words[words.index("--sets") + 1], words[words.index("--models") + 1]
            rows = [row for row in map(json.loads, log) if (row["data"], row["model"]) == (data, model)]
            rows = rows[: result.seeds]
            values, minutes = [row[result.metric] for row in rows], [row["minutes"] for row in rows if "minutes" in row]
            assert model == name and len(values) == result.seeds
            assert result.value == pytest.approx(statistics.mean(values), abs=6e-5)
            assert result.spread == (pytest.approx(statistics.stdev(values), abs=6e-5) if len(values) > 1 else None)
            assert result.minutes == (pytest.approx(statistics.mean(minutes), abs=0.06) if minutes else None)
            found += 1
    assert found > 5
