"""The page of `explore`: one HTML file that needs no server and no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from keras_transformers.analysis.explorer.pack import matches, pack_paths, pack_run
from keras_transformers.analysis.explorer.page_answers import TEMPERATURES
from keras_transformers.analysis.explorer.run import Run
from keras_transformers.analysis.explorer.space import Space, pack_space

SCRIPTS = (
    "dom.js",
    "answers.js",
    "lens.js",
    "maps.js",
    "tokens.js",
    "cell.js",
    "paths.js",
    "space.js",
    "main.js",
)  # in the order in which they are joined


def page(title: str, runs: Sequence[Run], first_token: int = 0, space: Space | None = None) -> str:
    """Return a document that shows a text, or a text and a changed one, inside a model.

    Users' texts are data in it, never code: its content security policy allows only the script of the page, and loads
    nothing.

    Args:
        title: The title, such as the name of the model.
        runs: One run, or two to compare.
        first_token: As for `pack_run`.
        space: The search results to show, or None.

    Returns:
        HTML.

    Raises:
        ValueError: There are no runs or more than two, or no such token.
    """
    if not 1 <= len(runs) <= 2:
        raise ValueError(f"a page shows one text, or compares two: received {len(runs)}.")
    script, style = (_joined(names) for names in (SCRIPTS, ("page.css",)))
    policy = f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    return Template(_asset("page.html")).substitute(
        title=html.escape(title),
        policy=policy,
        style=style,
        script=script,
        data=embedded(page_data(title, runs, first_token, space)),
    )


def page_data(title: str, runs: Sequence[Run], first_token: int = 0, space: Space | None = None) -> dict[str, Any]:
    """Return the data that the page's script reads."""
    same = {
        one.kind: [matches(old.names, new.names) for old, new in zip(_sides(before), _sides(one), strict=True)]
        for before, one in zip(runs[0].maps, runs[-1].maps, strict=True)
    }
    return {
        "title": title,
        "runs": [pack_run(run, first_token) for run in runs],
        "same": same,
        "temperatures": TEMPERATURES,
        "paths": pack_paths(runs[-1].tokens.names, runs[-1].about),
        "space": None if space is None else pack_space(space),
    }


def embedded(data: Any) -> str:
    """Return JSON that is safe inside a `<script>`: nothing in it ends the element or begins a comment.

    Example:

    >>> embedded("</script><!--")
    '"\\\\u003c/script\\\\u003e\\\\u003c!--"'
    """
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _sides(one: Any) -> tuple:
    return one.rows, one.columns


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _joined(names: Sequence[str]) -> str:
    return "\n" + "\n".join(map(_asset, names))


@cache
def _asset(name: str) -> str:
    return (files("keras_transformers.analysis.explorer") / "assets" / name).read_text(encoding="utf-8")
