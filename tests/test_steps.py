"""The steps of `.ci/run` part the tests: each is run by one step, and by one only."""

from __future__ import annotations

import ast
import gc
import os
import re
import shlex
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = (ROOT / ".ci" / "run").read_text(encoding="utf-8").replace("\\\n", " ")
QUICK = re.search(r'"-m", "([^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")).group(1)
COSTS = ("integration", "slow", "parity", "data")
MARKS = [set(marks) for size in range(len(COSTS) + 1) for marks in combinations(COSTS, size)]


def steps(without_data: bool = False) -> list[tuple[str, set[str], set[str]]]:
    """Of each command that runs tests: its expression of markers, the only paths it takes, and those that it leaves.

    The last one, on JAX, runs tests once more, and is left out.
    """
    script = re.sub(r"\$\{ZOO_WITHOUT_DATA:\+([^}]*)\}", r"\1" if without_data else "", SCRIPT)
    commands = [shlex.split(line) for line in re.findall(r"^run_tests (.*)$", script, re.MULTILINE)]
    found = [(QUICK, set(), set())]  # the README's command
    for command in commands:
        left = {word.removeprefix("--ignore=") for word in command if word.startswith("--ignore=")}
        found.append((command[command.index("-m") + 1], {word for word in command if word.startswith("tests/")}, left))
    return found


def runs(expression: str, marks: set[str]) -> bool:
    """Whether a step with this expression runs a test with these markers."""
    return eval(expression, {}, {name: name in marks for name in (*COSTS, "ray")})


@pytest.mark.parametrize("marks", MARKS, ids=lambda marks: "-".join(sorted(marks)) or "none")
def test_every_test_is_in_one_step(marks):
    for path in (None, "tests/test_readme.py", "tests/docs/test_pages.py"):
        in_step = [
            expression
            for expression, only, left in steps()
            if runs(expression, marks) and (path in only if only else path not in left)
        ]
        assert len(in_step) == 1, (marks, path, in_step)


def test_without_data_their_tests_alone_are_left_out():
    for marks in MARKS:
        ran = any(runs(expression, marks) for expression, only, _ in steps(without_data=True) if not only)
        assert ran == ("data" not in marks)


def test_a_cluster_of_ray_is_started_by_no_step():
    assert not any(runs(expression, {"slow", "ray"}) for expression, only, _ in steps() if not only)


def test_all_markers_of_ours_are_known_here():
    ours = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("markers = [")[1].split("\n]")[0]
    assert set(re.findall(r'^ +"(\w+)', ours, re.MULTILINE)) == {*COSTS, "ray", "end_to_end"}


def markers_of(node: ast.Module | ast.FunctionDef) -> set[str]:
    """Return the markers that a module or a function gives itself."""
    lines = node.decorator_list if isinstance(node, ast.FunctionDef) else filter(is_assignment, node.body)
    return {name for line in lines for name in re.findall(r"\bmark\.(\w+)", ast.unparse(line))}


def is_assignment(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign)


def runs_on_jax(function: ast.FunctionDef) -> bool:
    calls = [ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any(call.split(".")[-1] == "run_on_jax" for call in calls)


@pytest.mark.integration
def test_what_needs_jax_runs_after_its_installation():
    """The first steps have no extra `jax`, and a test that is skipped fails there."""
    early = []
    for file in ROOT.glob("tests/**/test_*.py"):
        module = ast.parse(file.read_text(encoding="utf-8"))
        early += [
            f"{file.name}::{node.name}"
            for node in module.body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and runs_on_jax(node)
            if not {"slow", "parity"} & (markers_of(module) | markers_of(node))
        ]
    assert early == []


def test_files_whose_examples_trace_graphs_are_where_they_were():
    """A file that moves takes its entry in conftest.py with it: its examples cost too much for the quick tests."""
    rules = ast.parse((ROOT / "conftest.py").read_text(encoding="utf-8"))
    (tracing,) = [
        node.value for node in rules.body if is_assignment(node) and ast.unparse(node.targets[0]) == "TRACING"
    ]
    paths = ast.literal_eval(tracing)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_collections_of_garbage_leave_alone_what_was_imported():
    """They would walk through it, which takes seconds late in a run: conftest.py freezes it."""
    assert gc.get_freeze_count() > 10_000


TESTS = """
import time, pytest

def spend(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass

def test_cheap(): pass
def test_costly(): spend(0.2)
@pytest.mark.end_to_end
def test_whole_task(): spend(0.2)
@pytest.mark.integration
def test_that_is_marked(): spend(0.2)
@pytest.mark.integration(quick=["a"])
@pytest.mark.parametrize("name", ["a", "b"])
def test_parameters(name): pass
def test_skipped(): pytest.skip("no reason")
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("expression", "counts"), [("not integration", "2 failed, 3 passed, 2 deselected"), ("integration", "2 passed")]
)
def test_in_ci_a_test_without_a_marker_may_not_cost_much(tmp_path, expression, counts):
    rules = (ROOT / "conftest.py").read_text(encoding="utf-8").replace("MOST = 10.0", "MOST = 0.1")
    (tmp_path / "conftest.py").write_text(rules, encoding="utf-8")
    (tmp_path / "test_few.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-m", expression, "--rootdir", str(tmp_path), str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=tmp_path, env=environment | {"CI": "true"}, capture_output=True, text=True)
    assert counts in done.stdout, done.stdout
    if expression == "not integration":
        assert re.search(r"took 0\.\d s of processor time\. .* and 0\.1 on a busy one\. Make it cheaper", done.stdout)
        assert "test_costly" in done.stdout and "skipped in CI" in done.stdout
