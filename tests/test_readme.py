"""The README's Python runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.mark.slow
def test_python_blocks_run_in_their_order(tmp_path: Path):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, check=True)
    assert (tmp_path / "serving" / "sentiment" / "1" / "saved_model.pb").is_file()


def test_commands_are_those_of_the_command_line():
    from typer.main import get_command

    from zoo.__main__ import app

    commands = set(re.findall(r"python -m zoo (\w+)", README.read_text(encoding="utf-8")))
    assert commands == set(get_command(app).commands)
