"""The notebooks as pages, with what their cells print and draw.

`python docs/generator/notebooks.py [NAME ...]` runs notebooks, all if none is named, and keeps their outputs in them.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import sys
from pathlib import Path
from tempfile import gettempdir
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\w`$])\$([^$\n`]+)\$(?![\w$])", re.DOTALL)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FOLDER = re.compile(re.escape(f"{gettempdir()}{os.sep}") + r"tmp\w+/?")
SECONDS = re.compile(r"(?:\.\.\. |^)\d+\.\d s$", re.M)  # of a step of a command
PLACE = re.compile(r"<[\w.]+(?: object)? at 0x[0-9a-f]+>")  # of an object that shows nothing else
MESSAGE = re.compile(r"^(?:INFO|WARNING):tensorflow:.*\n?", re.M)  # of TensorFlow, which it prints where a user types
LONGEST = 40  # lines of an output that are shown
LARGE = 80_000  # bytes of a picture


def files() -> list[Path]:
    """Return the notebooks, in their order."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def pages() -> list[str]:
    """Return the addresses of their pages."""
    return [f"notebooks/{path.stem}.md" for path in files()]


def navigation() -> list[dict[str, str]]:
    """Return the address of each page by its number and title."""
    titles = ("".join(json.loads(path.read_text("utf-8"))["cells"][0]["source"]).splitlines()[0] for path in files())
    return [
        {f"{number}. {title.lstrip('# ')}": page}
        for number, (title, page) in enumerate(zip(titles, pages(), strict=True), 1)
    ]


def written() -> dict[str, str | bytes]:
    """Return the pages and the pictures in them."""
    found: dict[str, str | bytes] = {}
    for path in files():
        found |= page(path.stem, json.loads(path.read_text("utf-8")))
    return found


def run(path: Path) -> None:
    """Run a notebook, and write what its cells print and draw into it, small and without what differs by machine."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=900, kernel_name="python3", resources=folder, coalesce_streams=True).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [kept for output in cell.outputs if (kept := slim(output))]
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "outputs_of": code_hash(notebook)}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def code_hash(notebook: Any) -> str:
    """Return a hash of the code of a notebook, by which a test sees outputs of other code."""
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]


def slim(output: Any) -> Any:
    """Return an output without noise and further forms, with a picture of few colours; None if nothing is left."""
    if output["output_type"] == "stream":
        text = output["text"]
        for noise, instead in ((COLOUR, ""), (MESSAGE, ""), (FOLDER, ""), (SECONDS, "... s")):
            text = noise.sub(instead, text)
        return {**output, "text": text} if text and output["name"] != "stderr" else None
    data = output["data"]
    kind = next(kind for kind in ("image/png", "text/markdown", "text/html", "text/plain") if kind in data)
    if kind == "text/plain" and PLACE.fullmatch("".join(data[kind])):
        return None
    content = small_picture(data[kind]) if kind == "image/png" else data[kind]
    slimmed = {**output, "data": {kind: content}, "metadata": {}}
    return slimmed | ({"execution_count": None} if output["output_type"] == "execute_result" else {})


def small_picture(picture: str) -> str:
    """Return a PNG in base64 with a palette of 64 colours, or of 16 where it would be large."""
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    for colours in (64, 16):
        found = io.BytesIO()
        image.quantize(colours).save(found, "PNG", optimize=True)
        if found.tell() < LARGE:
            break
    return base64.b64encode(found.getvalue()).decode()


def page(name: str, notebook: dict[str, Any]) -> dict[str, str | bytes]:
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
    return {f"notebooks/{name}.md": "\n\n".join(parts), **pictures}


def formula(found: re.Match) -> str:
    """Return a formula in TeX as MathML, which browsers show by themselves."""
    from latex2mathml.converter import convert

    return convert(found[1] or found[2], display="block" if found[1] else "inline")


def of_output(output: dict[str, Any], picture: str) -> tuple[str, bytes | None]:
    """Return what a page shows for an output, and the picture that goes with it."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![What the cell draws]({picture})", base64.b64decode("".join(data["image/png"]))
    if "text/markdown" in data:
        return "".join(data["text/markdown"]), None
    if "text/html" in data and "text/plain" not in data:
        return f'<div class="output">\n{"".join(data["text/html"])}\n</div>', None
    text = COLOUR.sub("", "".join(data.get("text/plain", output.get("text", "")))).rstrip()
    if not text or output.get("name") == "stderr":
        return "", None
    lines = text.splitlines()
    lines = lines if len(lines) <= LONGEST else [*lines[:LONGEST], f"... {len(lines) - LONGEST} more lines"]
    return "\n".join(["```text", *lines, "```"]), None


if __name__ == "__main__":
    for notebook in files():
        if notebook.stem in sys.argv[1:] or not sys.argv[1:]:
            run(notebook)
            print(notebook.name, f"{notebook.stat().st_size:,} bytes", flush=True)
