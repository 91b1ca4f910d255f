"""The pages by device say what was run and who says the rest; a tutorial ends in a figure and a served model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
DEVICES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((DOCS / "devices").glob("*.md"))}
TUTORIALS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((DOCS / "tutorials").glob("*.md"))}
NOT_RUN = ("tpu", "apple", "windows")
# The makers of the backends and of the devices, and Keras.
SOURCES = r"https://(www\.tensorflow\.org|docs\.jax\.dev|developer\.apple\.com|pypi\.org/project/keras|github\.com/(keras-team|tensorflow))/"


def test_each_device_has_a_page():
    assert {*DEVICES} == {"index", "cpu", "gpu", *NOT_RUN}
    assert all(f"({name}.md)" in DEVICES["index"] for name in DEVICES if name != "index")


@pytest.mark.parametrize("name", DEVICES)
def test_a_page_says_what_was_not_run_and_names_its_sources(name):
    page = DEVICES[name]
    assert ("Nothing of this library was run" in page) == (name in NOT_RUN)
    links = re.findall(r"\]\((https?://[^)]+)", page)
    assert all(re.match(SOURCES, link) for link in links), links
    assert links or name == "index"


@pytest.mark.parametrize("name", [name for name in TUTORIALS if name != "index"])
def test_a_tutorial_ends_in_a_figure_and_a_served_model(name):
    page = TUTORIALS[name]
    assert f"({name}.md)" in TUTORIALS["index"]
    figure, serve = page.index("**Measured**"), re.search(r"^## \d\. Serve$", page, re.MULTILINE).start()
    assert figure < serve and re.search(r"\d\.\d\d", page[figure:serve])
    assert "export" in page[serve:] and "python http_server.py serving/" in page[serve:]


def test_there_are_five_tutorials():
    assert len(TUTORIALS) == 5 + 1
