"""The README's code runs as it stands, and prints what is shown; it and the pages name what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import readme_code as code
from readme_code import PYTHON, SHELL, python_differences, shell_differences

import keras_transformers

README = Path(__file__).resolve().parent.parent / "README.md"
PAGE = README.read_text(encoding="utf-8")
PAGES_OF_DOCS = [path.read_text(encoding="utf-8") for path in sorted(README.parent.glob("docs/**/*.md"))]
# A trial of a guide is library code, and adds what is not there: tests/docs/test_guides.py.
ALL = "\n".join([PAGE, *(page.partition("\n## Trial\n")[0] for page in PAGES_OF_DOCS)])


@pytest.mark.slow
def test_python_blocks_print_what_is_shown(tmp_path: Path):
    """In their order, in one process: a block goes on with the names of those before it."""
    assert PYTHON.search(PAGE)
    done = subprocess.run([sys.executable, code.__file__, README], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "serving" / "sentiment" / "1" / "saved_model.pb").is_file()


@pytest.mark.slow
def test_commands_print_what_is_shown(tmp_path: Path):
    assert SHELL.search(PAGE)
    assert not list(shell_differences(PAGE, tmp_path))


def test_commands_without_output_are_known():
    """They set up, open a page, or are about files of the reader."""
    shown = {command for command, _ in SHELL.findall(PAGE)}
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL):
        lines = [] if block in shown else block.splitlines()
        assert all(re.search(r"activate|pytest|explore|--(train|data|html)|runs/", line) for line in lines), block


PAGES = {
    "1 + 1\n# 2": [],
    "print('a')\nprint('b')\n# b": ["print('a')\n  prints\na\n  and the page shows\nnothing"],
    "x = 2\nx\n# 1": ["x\n  prints\n2\n  and the page shows\n1"],
    "[0.25, 'a long', 'list']\n# [0.2..., 'a long',\n#  'list']": [],
    "x = 1\n# 1": ["x = 1\n  prints\n\n  and the page shows\n1"],
    "for x in 'ab':\n    print(x, end='')  # a comment\n# ab": [],
}


@pytest.mark.parametrize("block", PAGES)
def test_what_is_not_as_shown_is_found(block):
    assert list(python_differences(f"```python\n{block}\n```")) == PAGES[block]


def test_a_command_that_prints_something_else_is_found(tmp_path):
    page = "```sh\npython -c 'print(2)'\n```\n\n```text\n{}\n```\n"
    assert not list(shell_differences(page.format("2"), tmp_path))
    assert list(shell_differences(page.format("3"), tmp_path))


def test_public_names_are_imported_as_such():
    """Not from the module where they are at home, which may change."""
    for module, names in re.findall(r"from keras_transformers(\.[\w.]+)? import (.+)", ALL):
        assert not module or not set(keras_transformers.__all__) & set(re.split(r"[\s,]+", names))


def test_modules_that_the_text_names_exist():
    """With `keras_transformers` before them, or by their room alone."""
    folder = Path(keras_transformers.__file__).parent
    rooms = "|".join(sorted(path.parent.name for path in folder.glob("*/__init__.py")))
    paths = re.findall(rf"`keras_transformers((?:\.\w+)+)|`((?:{rooms})(?:\.\w+)+)", ALL)
    found = {first[1:] or second for first, second in paths} - {"config.json"}
    assert {"analysis.attention.recorded.record", "families"} <= found
    for path in found:
        value = keras_transformers
        for name in path.split("."):
            value = getattr(value, name, None) or import_module(f"{value.__name__}.{name}")


def test_commands_are_those_of_the_command_line():
    from typer.main import get_command

    from zoo.__main__ import app

    commands = set(re.findall(r"python -m zoo ([a-z]+)", ALL))
    assert commands == set(get_command(app).commands)
