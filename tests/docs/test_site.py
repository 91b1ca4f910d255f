"""The site: names in its navigation, the index of the API, widths of tables; built, it is read in a browser."""

from __future__ import annotations

import functools
import http.server
import os
import re
import runpy
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from browser import WIDTHS, chromium, is_as_wide_as_the_window, low_contrasts, opened
from rules import assert_none

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
API = runpy.run_path(str(DOCS / "generator" / "api.py"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
PHONE = 390 - 32  # pixels that GitHub leaves for a table
LETTER, CODE_LETTER, PADDING = 8.0, 8.2, 26  # pixels of GitHub's page at 16 pixels a letter
PAGES = ("", "models/", "api/", "api/layers/", "devices/", "tutorials/", "contributing/")
TOO_WIDE = """[...document.querySelectorAll('.md-typeset__scrollwrap')]
    .map((box) => box.scrollWidth - box.clientWidth).filter((more) => more > 0)"""
MOST_LINES = 6  # of a signature that precedes the first sentence


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose values may come from the environment."""


Loader.add_constructor("!ENV", lambda loader, node: loader.construct_sequence(node)[-1])


def navigation(entries: list, level: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each tab, section and page."""
    for entry in entries:
        name, inside = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(inside, list):
            yield ("section" if level else "tab"), name
            yield from navigation(inside, level + 1)
        else:
            yield "page", name or title(inside)


def title(page: str) -> str:
    source = {"changelog.md": ROOT / "CHANGELOG.md", "contributing/index.md": ROOT / "CONTRIBUTING.md"}
    return re.search(r"^# (.+)", source.get(page, DOCS / page).read_text(encoding="utf-8"), re.MULTILINE)[1]


def test_tabs_sections_and_pages_have_different_names():
    nav = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)["nav"]
    found = [*navigation(nav), *(("page", name) for name in API["entries"]())]
    assert {"Home", "Models", "By device"} <= {name for _, name in found}
    counts = Counter(name.lower() for _, name in found if name != "Home")
    twice = [name for name, count in counts.items() if count > 1]
    assert_none(twice, "A name in the navigation is that of one tab, section or page:")


def test_the_home_page_is_not_the_readme():
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    assert home.count("\n## ") == 3  # use, train, build
    assert len(home.splitlines()) < 100 and "explore.png" in home


def test_the_index_of_the_api_lists_every_page_and_name():
    index, entries = API["index"](), API["entries"]()
    assert all(f"]({page.removeprefix('api/')})" in index for page in API["pages"]())
    names = [name for of_page in entries.values() for name in of_page]
    assert len(names) > 60 and all(f"#{name})" in index for name in names)
    assert_none(re.findall(r"^\| \[`(\w+)`\]\(\S+\) \|\s*\|$", index, re.MULTILINE), "Each has a first sentence:")


def narrowest(row: str) -> float:
    """Return the least width of a row of a table on GitHub: that of the longest words, which do not break."""
    widths = []
    for cell in row.strip("|").split(" | "):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell)
        code = max((len(word) for code in re.findall(r"`([^`]+)`", text) for word in code.split()), default=0)
        words = max((len(word) for word in re.split(r"[\s-]", re.sub(r"`[^`]+`", "", text))), default=0)
        widths.append(max(code * CODE_LETTER, words * LETTER) + PADDING)
    return sum(widths)


def test_tables_of_the_readme_fit_a_phone():
    rows = [line for line in README.splitlines() if line.startswith("|") and "---" not in line]
    assert len(rows) > 15
    assert_none([row for row in rows if narrowest(row) > PHONE], "Fewer columns, or shorter words:")
    assert narrowest("| `transformer_mini_en_de` | parameters | keras_transformers | measured |") > PHONE


@pytest.fixture(scope="module")
def site(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_long_signatures_follow_the_first_sentence(site):
    placed = {True: 0, False: 0}
    for page in (site / "api").rglob("index.html"):
        html = page.read_text("utf-8")
        for found in re.finditer(r'<div class="doc-signature highlight">(.*?)</div>', html, re.DOTALL):
            is_long = found[0].count("\n") > MOST_LINES
            before = html[: found.start()].rstrip()
            placed[is_long] += 1
            assert before.endswith("</p>") == is_long, (page, found[1][:80])
    assert min(placed.values()) > 5


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder, and give its address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_the_window_and_ask_no_other_server(site, width):
    with served(site) as address, chromium() as browser:
        for path in PAGES:
            with opened(browser, f"{address}{path}", width) as (page, seen):
                assert is_as_wide_as_the_window(page), path
                assert width < max(WIDTHS) or page.evaluate(TOO_WIDE) == [], f"{path}: a table is wider than its page"
                assert not seen.errors and all(asked.startswith((address, "data:")) for asked in seen.requests)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_home_page_can_be_read(site, scheme):
    with served(site) as address, chromium() as browser, opened(browser, address, max(WIDTHS), scheme) as (page, _):
        page.wait_for_timeout(500)  # colours change slowly
        assert not low_contrasts(page, 3.0)  # of code, whose colours are the theme's, too
