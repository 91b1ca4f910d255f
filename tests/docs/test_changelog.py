"""CHANGELOG.md can be read: short lines, by themes, what breaks first; pages name the version that it describes."""

from __future__ import annotations

import re
from pathlib import Path

from rules import assert_none

import keras_transformers

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
LONGEST_LINE, LONGEST_VERSION = 300, 120
VERSION = keras_transformers.__version__


def test_lines_are_short():
    long = [f"line {number}: {len(line)}" for number, line in enumerate(LINES, 1) if len(line) > LONGEST_LINE]
    assert_none(long, f"A line of CHANGELOG.md has at most {LONGEST_LINE} characters: one change, in a user's words.")


def test_each_version_is_a_page():
    versions = "\n".join(LINES).split("\n## ")[1:]
    long = [version.partition("\n")[0] for version in versions if version.count("\n") > LONGEST_VERSION]
    assert_none(long, f"A version has at most {LONGEST_VERSION} lines: join what belongs to one theme.")


def test_what_breaks_is_first():
    """In the version of the package: changed and removed names, then what works differently, then themes."""
    (begin,) = (number for number, line in enumerate(LINES) if line.startswith(f"## [{VERSION}]"))
    themes = [line for line in LINES[begin:] if line.startswith(("### ", "## "))]
    assert themes[1:3] == ["### Changed and removed names", "### What works differently"]


def test_pages_name_this_version():
    """Of the library: the wheel's name, and the version that the FAQ speaks of."""
    start, faq = ((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("start.md", "faq.md"))
    assert set(re.findall(r"keras_transformers-([\d.]+)-py3", start)) == {VERSION}
    assert re.findall(r"^Version ([\d.]+\d): ", faq, re.MULTILINE) == [VERSION]
