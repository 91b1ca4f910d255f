"""The README's Python runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import keras_transformers

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.mark.slow
def test_python_blocks_run_in_their_order(tmp_path: Path):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, check=True)
    assert (tmp_path / "serving" / "sentiment" / "1" / "saved_model.pb").is_file()


def test_public_names_are_imported_as_such():
    """Not from the module where they are at home, which may change."""
    text = README.read_text(encoding="utf-8")
    for module, names in re.findall(r"from keras_transformers(\.[\w.]+)? import (.+)", text):
        assert not module or not set(keras_transformers.__all__) & set(re.split(r"[\s,]+", names))
    paths = re.findall(r"keras_transformers((?:\.\w+)+)", text)
    assert paths
    for path in paths:  # and those that are named in the text exist
        value = keras_transformers
        for name in path[1:].split("."):
            value = getattr(value, name, None) or import_module(f"{value.__name__}.{name}")


def test_commands_are_those_of_the_command_line():
    from typer.main import get_command

    from zoo.__main__ import app

    commands = set(re.findall(r"python -m zoo (\w+)", README.read_text(encoding="utf-8")))
    assert commands == set(get_command(app).commands)
