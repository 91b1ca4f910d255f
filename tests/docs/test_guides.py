"""docs/contributing: each guide's files exist, and its trial does what the page shows, in a copy of the packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import readme_code as code
from readme_code import shell_differences
from rules import assert_none

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "contributing"
GUIDES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("add_*.md"))}
NEW_FILE = re.compile(r'^```py title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
CHANGE = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONGEST = 6_000  # characters of a guide: it is read before the work, not in place of it


def files(page: str) -> list[str]:
    """Return the paths in the first column of the table of files."""
    table = re.search(r"^\| file \| what \|\n\|---\|---\|\n((?:\|.*\n)+)", page, re.MULTILINE)[1]
    return [path for row in table.splitlines() for path in re.findall(r"`([\w./<>]+)`", row.split(" | ")[0])]


def make(page: str, folder: Path) -> None:
    """Copy the packages to a folder, with the files and changes of a guide."""
    weights = shutil.ignore_patterns("__pycache__", "bundled")
    for package in ("keras_transformers", "zoo"):
        shutil.copytree(ROOT / package, folder / package, ignore=weights)
    (folder / "zoo" / "bundled").symlink_to(ROOT / "zoo" / "bundled")
    for path, content in NEW_FILE.findall(page):
        assert not (folder / path).exists(), f"{path} exists: the trial shows how to add it"
        (folder / path).write_text(content, encoding="utf-8")
    for change in CHANGE.findall(page):
        done = subprocess.run(["git", "apply", "-"], cwd=folder, input=change, capture_output=True, text=True)
        assert not done.returncode, f"a change of the guide does not fit the code: {done.stderr}"


def test_guides_are_found():
    kinds = ("checkpoint_format", "family", "task", "verb")
    assert {f"add_a_{kind}" for kind in kinds} | {"add_an_option"} == set(GUIDES)
    assert all(f"docs/contributing/{name}.md" in (ROOT / "CONTRIBUTING.md").read_text("utf-8") for name in GUIDES)


@pytest.mark.parametrize("name", GUIDES)
def test_files_of_a_guide_exist(name):
    patterns = {path: re.sub(r"<\w+>", "*", path).rstrip("/") for path in files(GUIDES[name])}
    assert len(patterns) >= 4
    assert_none([path for path, pattern in patterns.items() if not [*ROOT.glob(pattern)]], f"{name}.md names files:")


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_is_short(name):
    assert len(GUIDES[name]) <= LONGEST


@pytest.mark.parametrize("name", GUIDES)
def test_changes_fit_the_code(name, tmp_path):
    make(GUIDES[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", GUIDES)
def test_the_trial_does_what_the_page_shows(name, tmp_path):
    packages = tmp_path / "packages"
    make(GUIDES[name], packages)
    environment = os.environ | {"PYTHONPATH": str(packages)}
    command = [sys.executable, code.__file__, FOLDER / f"{name}.md"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(shell_differences(GUIDES[name].partition("## Trial")[2], tmp_path, packages))


def test_a_change_that_does_not_fit_is_found(tmp_path):
    page = "```diff\n--- a/zoo/__main__.py\n+++ b/zoo/__main__.py\n@@ -1 +1 @@\n-no such line\n+another\n```\n"
    with pytest.raises(AssertionError, match="does not fit the code"):
        make(page, tmp_path)
