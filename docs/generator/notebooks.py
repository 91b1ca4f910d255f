"""The notebooks as pages, with what their cells print and draw.

`python docs/generator/notebooks.py [NAME ...]` runs notebooks, all if none is named, and keeps their outputs in them.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\w`$])\$([^$\n`]+)\$(?![\w$])", re.DOTALL)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LONGEST = 40  # lines of an output that are shown


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
    NotebookClient(notebook, timeout=900, kernel_name="python3", resources=folder).execute()
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
    """Return an output without colours and further forms, with a picture of few colours; None for messages."""
    if output.get("name") == "stderr":
        return None
    if output["output_type"] == "stream":
        return {**output, "text": COLOUR.sub("", output["text"])}
    data = output["data"]
    kind = next(kind for kind in ("image/png", "text/html", "text/plain") if kind in data)
    content = small_picture(data[kind]) if kind == "image/png" else data[kind]
    slimmed = {**output, "data": {kind: content}, "metadata": {}}
    return slimmed | ({"execution_count": None} if output["output_type"] == "execute_result" else {})


def small_picture(picture: str) -> str:
    """Return a PNG in base64 with a palette of 64 colours."""
    from PIL import Image

    found = io.BytesIO()
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(64).save(found, "PNG", optimize=True)
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
