"""docs/build_your_own.md: its code is that of notebook 07, which runs and asserts; its links and names exist."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import keras_transformers
from keras_transformers import layers

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "build_your_own.md").read_text(encoding="utf-8")
NOTEBOOK = json.loads((ROOT / "notebooks" / "07_build_your_own.ipynb").read_text(encoding="utf-8"))


def test_its_code_is_that_of_the_notebook():
    cells = ["".join(cell["source"]) for cell in NOTEBOOK["cells"]]
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 10
    assert [block for block in blocks if block.strip() not in cells] == []


def test_each_model_has_at_most_thirty_lines():
    """From its function, class or first input to `fit`, data apart."""
    functions = {"classifier": 30, "reader": 30, "viewer": 30, "GPT": 30, "bert": 30, "translate": 30}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        for node in ast.parse(block).body:
            name = getattr(node, "name", None)
            assert name not in functions or node.end_lineno - node.lineno < functions[name], name


def test_its_links_lead_somewhere():
    places = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^## (.*)$", PAGE, re.M)}
    assert {link[1:] for link in re.findall(r"\]\((#[^)]*)\)", PAGE)} <= places
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    for link in re.findall(r"\]\(([^#)][^)]*)\)", prose):
        assert (ROOT / "docs" / link).is_file(), link


def test_the_layers_that_it_names_exist():
    section = PAGE.split("## Names of Keras")[1].split("## Weights")[0]
    rows = [row.split("|")[2] for row in section.splitlines() if row.startswith("| `")]
    names = {name for row in rows for name in re.findall(r"`([A-Z]\w+)", row)}
    assert {"Attention", "EncoderBlock", "DecoderBlock", "Tokenize"} <= names
    assert not [name for name in names if not hasattr(layers, name) and name not in dir(keras_transformers)]
