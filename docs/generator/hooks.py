"""Hooks of MkDocs: pages that code makes, and links of the repository's pages as links of the site."""

from __future__ import annotations

import logging
import re
import time
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

import api
import gallery
from mkdocs.structure.files import File, Files

import notebooks

ROOT = Path(__file__).resolve().parents[2]
LOG = logging.getLogger("mkdocs.plugins.generator")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```|^    .*?$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
INDEX = re.compile(r"<!-- api -->.*<!-- /api -->", re.DOTALL)
# Of an object of the API: its signature, and the first sentence that follows.
SIGNATURE = re.compile(
    r'(<div class="doc-signature highlight">(?:(?!</div>).)*</div>)'
    r'(\s*<div class="doc doc-contents[^>]*>\s*)(<p>.*?</p>)',
    re.DOTALL,
)
MOST_LINES = 6  # of a signature that stands before the first sentence
OPTIONS = re.compile(r"<!-- options (\w+) -->")
# Pages of the site that stand elsewhere in the repository.
ELSEWHERE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing/index.md"}
sources: dict[str, str] = {}  # of each page of the site, its file in the repository


def on_config(config: Any) -> None:
    """Fill in the parts of the navigation that follow from the code and the notebooks."""
    generated = {"API": list(api.pages()), "Notebooks": notebooks.navigation()}
    for section in config.nav:
        ((title, entries),) = section.items()
        if title in generated:
            section[title] = [*entries, *generated[title]]


def on_files(files: Files, config: Any) -> None:
    """Add the generated pages to the files of the site."""
    full, begun = config.extra["full"], time.monotonic()
    pages: dict[str, str | bytes] = {site: (ROOT / path).read_text("utf-8") for path, site in ELSEWHERE.items()}
    pages |= api.pages() | notebooks.written() | gallery.written(full)
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    sources.clear()
    sources.update({file.src_uri: f"docs/{file.src_uri}" for file in files})
    sources.update({site: path for path, site in ELSEWHERE.items()})
    sources.update({page: page.replace(".md", ".ipynb") for page in notebooks.pages()})
    LOG.info("%d pages generated in %.0f s", len(pages), time.monotonic() - begun)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Return a page with the options of its task, and with links that lead to pages of the site."""
    markdown = OPTIONS.sub(lambda found: api.task_options(found[1]), markdown)
    markdown = INDEX.sub(lambda _: api.index(), markdown)
    parts = CODE.split(markdown)  # code is at odd places
    for index in range(0, len(parts), 2):
        parts[index] = LINK.sub(lambda found: site_link(found, page.file.src_uri, config.repo_url), parts[index])
    return "".join(parts)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Return a page with each long signature behind the first sentence, which says what the name is."""
    return SIGNATURE.sub(behind_the_sentence, html)


def behind_the_sentence(found: re.Match) -> str:
    """Return a signature, what follows it, and the first sentence, in the order in which they are read."""
    signature, between, sentence = found.groups()
    is_long = signature.count("\n") > MOST_LINES
    return f"{between}{sentence}{signature}" if is_long else found[0]


def site_link(found: re.Match, page: str, repository: str | None) -> str:
    """Return a link of a page of the repository as a link of the site; what leads nowhere stays, for MkDocs to
    warn of.
    """
    image, text, link = found.groups()
    path, mark, anchor = link.partition("#")
    if not path or ":" in path:
        return found[0]
    target = normpath(join(dirname(sources[page]), path))
    places = {source: site for site, source in sources.items()}
    if target in places:
        return f"{image}[{text}]({relpath(places[target], dirname(page) or '.')}{mark}{anchor})"
    if not (ROOT / target).exists():
        return found[0]
    return f"[{text}]({repository.rstrip('/')}/blob/main/{target}{mark}{anchor})" if repository else text
