"""The notebooks as pages: executed, with what their cells print and draw."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import re
import time
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "notebooks"
LOG = logging.getLogger("mkdocs.plugins.generator")
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\w`$])\$([^$\n`]+)\$(?![\w$])", re.DOTALL)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = 40  # lines of an output that are shown
NOT_RUN = (
    "!!! note\n\n    This page was built without running the notebook: what its cells print and draw is missing.\n\n"
)


def files() -> list[Path]:
    """Return the notebooks, in their order."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def pages() -> list[str]:
    """Return the addresses of their pages."""
    return [f"notebooks/{path.stem}.md" for path in files()]


def written(full: bool) -> dict[str, str | bytes]:
    """Return the pages and the pictures in them; executed first where the build is a full one."""
    found: dict[str, str | bytes] = {}
    for path in files():
        notebook = executed(path) if full else json.loads(path.read_text("utf-8"))
        found |= page(path.stem, notebook, full)
    return found


def executed(path: Path) -> dict[str, Any]:
    """Return a notebook with its outputs, from the cache where neither it nor the code has changed."""
    kept = CACHE / f"{path.stem}-{fingerprint(path)}.ipynb"
    if not kept.exists():
        import nbformat
        from nbclient import NotebookClient

        begun, notebook = time.monotonic(), nbformat.read(path, as_version=4)
        folder = {"metadata": {"path": str(path.parent)}}
        NotebookClient(notebook, timeout=900, kernel_name="python3", resources=folder).execute()
        CACHE.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, kept)
        LOG.info("%s executed in %.0f s", path.name, time.monotonic() - begun)
    return json.loads(kept.read_text("utf-8"))


def fingerprint(path: Path) -> str:
    """Return a hash of all that a notebook's outputs follow from: itself, and the code of this repository."""
    code = sorted(file for room in ("keras_transformers", "zoo") for file in (ROOT / room).rglob("*.py"))
    digest = hashlib.sha256()
    for file in [path, *code]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def page(name: str, notebook: dict[str, Any], is_executed: bool) -> dict[str, str | bytes]:
    """Return a notebook as a page in Markdown, and its pictures."""
    parts, pictures = [], {}
    for number, cell in enumerate(notebook["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(FORMULA.sub(formula, text))
            continue
        parts.append(f"```python\n{text}\n```")
        for place, output in enumerate(cell["outputs"]):
            picture = f"{name}_{number}_{place}.png"
            shown, image = of_output(output, picture)
            parts += [shown] if shown else []
            pictures |= {f"notebooks/{picture}": image} if image else {}
    title, *rest = "\n\n".join(parts).split("\n", 1)
    body = "\n".join([title, "", "" if is_executed else NOT_RUN, *rest])
    return {f"notebooks/{name}.md": body, **pictures}


def formula(found: re.Match) -> str:
    """Return a formula in TeX as MathML, which browsers show by themselves."""
    return convert(found[1] or found[2], display="block" if found[1] else "inline")


def of_output(output: dict[str, Any], picture: str) -> tuple[str, bytes | None]:
    """Return what a page shows for an output, and the picture that goes with it."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![What the cell draws]({picture})", base64.b64decode("".join(data["image/png"]))
    if "text/html" in data and "text/plain" not in data:
        return f'<div class="output">\n{"".join(data["text/html"])}\n</div>', None
    text = COLOUR.sub("", "".join(data.get("text/plain", output.get("text", "")))).rstrip()
    if not text or output.get("name") == "stderr":
        return "", None
    lines = text.splitlines()
    lines = lines if len(lines) <= LONGEST else [*lines[:LONGEST], f"... {len(lines) - LONGEST} more lines"]
    return "\n".join(["```text", *lines, "```"]), None
