"""docs/compatibility.md: its versions are those of pyproject.toml, and jobs of CI run the oldest and each Python."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

import keras_transformers

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
JOBS = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
ROWS = dict(re.findall(r"^\| (\w+) \| (.*?) \|", PAGE, re.MULTILINE))


def bounds(package: str) -> tuple[str, int | None]:
    """Return the oldest version that pyproject.toml allows, and the minor version that it no longer does, if any."""
    lowest, below = re.search(rf'"{package}>=(\d+\.\d+)(?:,<\d+\.(\d+))?"', PROJECT).groups()
    return lowest, below and int(below)


def commands(job: str) -> str:
    return "\n".join(step.get("run", "") for step in JOBS[job]["steps"])


def test_each_python_is_run():
    listed = ROWS["Python"].split(", ")
    assert listed == JOBS["python"]["strategy"]["matrix"]["python-version"]
    first, last = (f"3.{minor}" for minor in re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', PROJECT).groups())
    assert (listed[0], f"3.{int(listed[-1][2:]) + 1}") == (first, last)


def test_the_oldest_versions_are_run():
    (tensorflow, _), (keras, below) = bounds("tensorflow"), bounds("keras")
    assert f'"tensorflow=={tensorflow}.*" "keras=={keras}.*"' in commands("oldest")
    assert "python -m pytest" in commands("oldest")
    assert ROWS["TensorFlow"].startswith(f"{tensorflow} to the newest")
    assert ROWS["Keras"] == f"{keras} to 3.{below - 1}"


def test_everything_runs_at_night_on_jax_too():
    assert "bash .ci/run" in commands("full") and "'all'" in commands("full")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "BLOCK_TENSORFLOW=1 KERAS_BACKEND=jax run_tests" in script.partition("!= all")[2]
    python = next(
        step["with"]["python-version"] for step in JOBS["full"]["steps"] if "python-version" in step.get("with", {})
    )
    assert f"on Python {python}" in PAGE


def test_the_changelog_has_a_section_of_each_version():
    """The newest one that is dated is the package's."""
    found = re.findall(
        r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert found[0] == ("Unreleased", "") and all(date for _, date in found[1:])
    assert found[1][0] == keras_transformers.__version__
