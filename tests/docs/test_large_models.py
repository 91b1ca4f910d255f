"""The page on models that do not fit one device: its Python runs as it stands, on 8 virtual devices."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/training/large_models.md").read_text("utf-8"), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(BLOCKS)))
def test_python_runs(index, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("KERAS_BACKEND", None)
    done = subprocess.run(
        [sys.executable, "-c", BLOCKS[index]], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert all(line.split("  # ")[1] in done.stdout for line in BLOCKS[index].splitlines() if line.startswith("print("))
