"""Notebooks run from top to bottom, and are committed with small outputs of the code beside them."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ABSOLUTE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|Users|work|tmp|mnt|usr|var|opt|data|content)\b|\b[A-Za-z]:\\")

MOST_BYTES = 300_000  # of a notebook with its outputs
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
    if "outputs_of" not in notebook["metadata"]:
        assert not [cell["source"] for cell in cells if cell["outputs"]]
        return
    assert notebook["metadata"]["outputs_of"] == GENERATOR["code_hash"](notebook)
    assert [cell["source"] for cell in cells if "print(" in "".join(cell["source"]) and not cell["outputs"]] == []


@notebook_test
def test_outputs_are_small_and_without_noise(path):
    cells = [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]

    assert path.stat().st_size < MOST_BYTES
    assert not [cell["source"] for cell in cells if cell["execution_count"] is not None or cell["metadata"]]
    assert not [output for output in outputs if output.get("name") == "stderr" or output["output_type"] == "error"]
    assert all(len(output.get("data", ["text"])) == 1 for output in outputs)


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
