"""docs/build_your_own.md: its code is that of notebook 07, which runs and asserts; its links and names exist."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import keras
import pytest
from readme_code import PYTHON, python_differences

import keras_transformers
from keras_transformers import layers

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "build_your_own.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
MODELS = [*SECTIONS][:6]
OTHERS = [name for name in [*SECTIONS][6:-1] if PYTHON.search(SECTIONS[name])]
IMPORTS = "".join(f"```python\n{block}```\n" for block in PYTHON.findall(PAGE)[:2]).split("\ndef messages")[0] + "```\n"
NOTEBOOK = json.loads((ROOT / "notebooks" / "07_build_your_own.ipynb").read_text(encoding="utf-8"))


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keras.utils.set_random_seed(0)


def test_its_models_are_those_of_the_notebook():
    cells = ["".join(cell["source"]) for cell in NOTEBOOK["cells"]]
    blocks = [block for name in MODELS for block in PYTHON.findall(SECTIONS[name])]
    assert len(blocks) == 8
    assert [block for block in blocks if block.strip() not in cells] == []


@pytest.mark.integration
@pytest.mark.parametrize("name", OTHERS)
def test_other_code_prints_what_is_shown(name, in_a_folder):
    assert not list(python_differences(IMPORTS + SECTIONS[name]))


@pytest.mark.parity
def test_weights_are_carried_over(in_a_folder):
    code = SECTIONS["Carry weights over"]
    assert code.count("atol=1e-5") == 3
    assert not list(python_differences(IMPORTS + code))


def test_all_code_is_run():
    assert {name for name, text in SECTIONS.items() if PYTHON.search(text)} == {*MODELS, *OTHERS, "Carry weights over"}


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
        assert (ROOT / "docs" / link.split("#")[0]).is_file(), link


def test_the_layers_that_it_names_exist():
    section = SECTIONS["Beside keras.layers and keras_hub.layers"]
    rows = [row.split("|")[2] for row in section.splitlines() if row.startswith("| ")]
    names = {name for row in rows for name in re.findall(r"`([A-Z]\w+)", row)}
    assert {"Attention", "EncoderBlock", "DecoderBlock", "Tokenize"} <= names
    assert not [name for name in names if not hasattr(layers, name) and name not in dir(keras_transformers)]
