"""Notebooks run from top to bottom, and are committed with small outputs of the code beside them."""

from __future__ import annotations

import json
import re
import runpy
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ABSOLUTE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|Users|work|tmp|mnt|usr|var|opt|data|content)\b|\b[A-Za-z]:\\")

MOST_BYTES = 300_000  # of a notebook with its outputs
MOST_LINES = 100  # of one output
NOISE = re.compile(
    r"<Figure|<IPython|:tensorflow:|\bat 0x[0-9a-f]|━|^[IWE]0000 |Warning:|\b\d+(\.\d+)? (ms|s|minutes) (left|a step)",
    re.M,
)
GENERATOR = runpy.run_path(str(ROOT / "docs" / "generator" / "notebooks.py"))

notebook_test = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def sources(notebook: dict) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def test_there_are_notebooks():
    assert "01_attention" in [path.stem for path in NOTEBOOKS]


@notebook_test
def test_outputs_are_of_the_code_beside_them(path):
    """`python docs/generator/notebooks.py NAME` runs a notebook and writes its outputs."""
    notebook = read(path)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebook["metadata"].get("outputs_of") == GENERATOR["code_hash"](notebook)
    assert [cell["source"] for cell in cells if "print(" in "".join(cell["source"]) and not cell["outputs"]] == []


@notebook_test
def test_outputs_are_small_and_without_noise(path):
    cells = [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]

    assert path.stat().st_size < MOST_BYTES
    assert not [cell["source"] for cell in cells if cell["execution_count"] is not None or cell["metadata"]]
    assert not [output for output in outputs if output.get("name") == "stderr" or output["output_type"] == "error"]
    assert all(len(output.get("data", ["text"])) == 1 for output in outputs)
    shown = [text for output in outputs for text in (output.get("text", ""), *output.get("data", {}).values())]
    assert [text for text in map("".join, shown) if NOISE.search(text)] == []
    assert [len(text.splitlines()) for text in map("".join, shown) if len(text.splitlines()) > MOST_LINES] == []


@pytest.mark.parametrize(
    "text", ["<Figure size 640x480>", "<x object at 0x7f3a>", "9/9 ━━━ 3s", "W0000 a", "12.5 s left"]
)
def test_noise_is_recognised(text):
    assert NOISE.search(text)


def test_messages_are_left_out():
    stream = {"output_type": "stream", "name": "stdout"}
    message = "INFO:tensorflow:Assets written to: a\n"

    assert GENERATOR["slim"](stream | {"text": f"{message}loss 2\n{message}"}) == stream | {"text": "loss 2\n"}
    assert GENERATOR["slim"](stream | {"text": message}) is None
    saved = f"save {Path(tempfile.gettempdir(), 'tmp1ab_c')}/mine ... 2.1 s\n"
    assert GENERATOR["slim"](stream | {"text": saved})["text"] == "save mine ... s\n"
    history = {"text/plain": "<keras.src.callbacks.history.History at 0x7fe68f5a6b90>"}
    assert GENERATOR["slim"]({"output_type": "execute_result", "data": history}) is None
    assert GENERATOR["slim"](stream | {"text": "a", "name": "stderr"}) is None


def test_tables_are_kept_as_tables():
    """Jupyter gives them as Markdown, and as the name of an object."""
    table = "| a |\n|---|\n| 1 |"
    data = {"text/plain": "<IPython.core.display.Markdown object>", "text/markdown": table}
    kept = GENERATOR["slim"]({"output_type": "display_data", "data": data})

    assert kept["data"] == {"text/markdown": table}
    assert GENERATOR["of_output"](kept, "a.png") == (table, None)


@notebook_test
def test_no_path_of_one_machine_is_committed(path):
    assert ABSOLUTE_PATH.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("text", ["open('/root/a.txt')", "cd /tmp/x", "path = /mnt/b", r"C:\Users"])
def test_absolute_paths_are_recognised(text):
    assert ABSOLUTE_PATH.search(text)


@pytest.mark.parametrize("text", ["https://a.org/data/x", "../shared/data", "scores / work", "keras/data/x", "1/home"])
def test_other_slashes_are_not(text):
    assert not ABSOLUTE_PATH.search(text)


@notebook_test
def test_any_jupyter_opens_it(path):
    notebook = read(path)

    assert notebook["nbformat"] == 4
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert notebook["cells"][0]["cell_type"] == "markdown"
    assert sources(notebook)[0].startswith("# ")
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


@notebook_test
def test_it_checks_what_it_claims(path):
    code = [source for source in sources(read(path)) if "assert" in source]

    assert len(code) >= 5


@notebook_test
def test_the_first_import_is_ours(path):
    """With Keras imported before, TensorFlow's messages would be the first thing that a reader sees."""
    code = "\n".join(sources(read(path)))
    imported = re.findall(r"^(?:import|from) (zoo|keras_transformers|keras|tensorflow)\b", code, re.M)

    assert imported[0] in ("zoo", "keras_transformers")


@pytest.mark.slow
@notebook_test
def test_it_runs(path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)

    # In its own folder, as someone who opens it does; an error of a cell is raised here, with the cell.
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()

    counts = [cell["execution_count"] for cell in notebook.cells if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))
    printed = [output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [text for text in printed if re.search(r"^[IWE]0000 |InitializeLog", text, re.MULTILINE)]
