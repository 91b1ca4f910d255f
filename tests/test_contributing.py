"""CONTRIBUTING.md is short; it and docs/contributing name files, hooks and tables that exist."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from rules import assert_none

from keras_transformers.families.table import Names
from keras_transformers.tasks.answers.one_pass import OnePass
from keras_transformers.tasks.answers.written_answers import Writing
from keras_transformers.tasks.contract.kind import Kind
from keras_transformers.tasks.contract.parts import Parts, Setup

ROOT = Path(__file__).resolve().parent.parent
FIRST = ROOT / "CONTRIBUTING.md"
PAGES = {path.name: path.read_text("utf-8") for path in (FIRST, *sorted((ROOT / "docs" / "contributing").glob("*.md")))}
TEXT = re.sub(r"```.*?```", "", "\n".join(PAGES.values()), flags=re.DOTALL)  # its code is run: test_guides.py
FOLDERS = (ROOT, ROOT / "keras_transformers", ROOT / "tests", ROOT / "docs" / "contributing")
MADE = (
    "modeling_",
    "runs/",
    "FOLDER",
    "DIR",
    "OUT",
    ".venv",
    "../",
    "requirements",
)  # by a user, not in the repository


def paths() -> list[str]:
    """What stands in code marks or links and looks like a file or a folder of ours."""
    marked = re.findall(r"`([^`\n]+)`", TEXT) + re.findall(r"\]\(([^)]+)\)", TEXT)
    marked = [text.removeprefix("../../") for text in marked]
    found = {text for text in marked if re.fullmatch(r"[\w./<>-]+(/|\.(py|md|npz|json))", text)}
    return sorted(text for text in found if not text.startswith(MADE) and text not in ("train.txt", "valid.txt"))


def exists(path: str) -> bool:
    pattern = re.sub(r"<\w+>", "*", path).rstrip("/")
    return any(list(folder.glob(pattern)) for folder in FOLDERS) or bool(list(FOLDERS[1].rglob(pattern)))


def test_files_that_are_named_exist():
    of_a_checkpoint = ("tokenizer.json", "README.md")
    missing = [path for path in paths() if path not in of_a_checkpoint and not exists(path)]
    assert_none(missing, "CONTRIBUTING.md and docs/contributing name only files and folders of the repository:")


def test_paths_are_found():
    assert {"keras_transformers/tasks/masked_lm.py", "keras_transformers/families/<kind>/<family>.py"} <= set(paths())


def test_how_to_add_a_task_names_every_hook():
    """What it tells to write is there to be written, and what has to be written is told."""
    named = set(re.findall(r"`(\w+)`", PAGES["add_a_task.md"].partition("## The parts")[2].partition("## Trial")[0]))
    known = {"Setup", "Parts", "KIND", "Kind", "OnePass", "Writing"}
    known |= {"fit", "predict", "export", "describe", "signatures"}
    known |= {field.name for kind in (Setup, Parts) for field in fields(kind)} | set(Kind._fields) | set(Names._fields)
    assert not named - known
    needed = {field.name for field in fields(Parts) if field.default is field.default_factory}
    assert needed - {"tokenizer"} <= named
    assert {name for name in Kind._fields if name.startswith(("needs", "takes", "writes"))} <= named
    assert all(hasattr(kind, name) for kind in (OnePass, Writing) for name in ("predict", "export"))


def test_the_first_page_is_short():
    """How to contribute, on one screen or two; the rest is one link away."""
    assert len(PAGES["CONTRIBUTING.md"]) <= 5_000
    links = set(re.findall(r"\]\(docs/contributing/(\w+\.md)", PAGES["CONTRIBUTING.md"]))
    assert links == PAGES.keys() - {"CONTRIBUTING.md"}
