"""The pages of docs/: their Python runs and prints what they show, their commands exist, their links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import readme_code as code
from readme_code import PYTHON, SHELL, shell_differences
from rules import assert_none

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
# Pages whose Python another file runs, as it needs folders or packages that are made first.
ELSEWHERE = {
    "build_your_own.md": "test_build_your_own.py",
    "from_transformers.md": "test_from_transformers.py",
    "serving/README.md": "test_own_model.py",
    "tensorflow_checkpoints.md": "test_tensorflow_checkpoints.py",
    "training/large_models.md": "test_large_models.py",
}
ELSEWHERE |= {name: "test_guides.py" for name in PAGES if name.startswith("contributing/add_")}
NOT_RUN = {"training/several_workers.md"}  # needs workers: tests/training/workers/test_several_workers.py starts them
NO_COMMANDS = {"tensorflow_checkpoints.md", "contributing/add_a_verb.md"}  # of folders, and of a verb, that tests make
WITH_PYTHON = [name for name, page in PAGES.items() if PYTHON.search(page) and name not in {*ELSEWHERE, *NOT_RUN}]
WITH_OUTPUT = [name for name, page in PAGES.items() if SHELL.search(page) and name not in NO_COMMANDS]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PYTHON)
def test_python_prints_what_is_shown(name, tmp_path):
    """The blocks of a page in their order, in one process, in an empty folder."""
    done = subprocess.run([sys.executable, code.__file__, DOCS / name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_OUTPUT)
def test_commands_print_what_is_shown(name, tmp_path):
    assert not list(shell_differences(PAGES[name], tmp_path))


def test_pages_are_found():
    assert len(WITH_PYTHON) >= 14 and "command_line.md" in WITH_OUTPUT
    for page, test in ELSEWHERE.items():
        assert (PYTHON.search(PAGES[page]) or page in NO_COMMANDS) and (DOCS.parent / "tests" / "docs" / test).is_file()


def test_each_task_has_a_page_with_its_options():
    from keras_transformers.checkpoints.settings.names import task_names

    assert {f"tasks/{task}.md" for task in task_names()} == {name for name in PAGES if name.startswith("tasks/")}
    assert all(f"<!-- options {task} -->" in PAGES[f"tasks/{task}.md"] for task in task_names())


def test_python_blocks_parse():
    for name, page in PAGES.items():
        for block in PYTHON.findall(page):
            compile(block, name, "exec")


def test_links_lead_to_files():
    """To places in pages, too: `mkdocs build --strict` checks these."""
    dead = []
    for name, page in PAGES.items():
        links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", page, flags=re.DOTALL))
        made = {link for link in links if name == "gallery.md" and f"--html {Path(link).name}" in page}  # by the site
        folder = (DOCS / name).parent
        dead += [f"{name}: {link}" for link in links if link not in made and not (folder / link).exists()]
    assert_none(dead, "A link of a page leads to a file of the repository:")
