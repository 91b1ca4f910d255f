"""Virtual environments of tests: for packages that would change the versions of ours, and for other TensorFlows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def uv() -> str:
    """The program `uv`, beside this Python or on the path."""
    found = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    return found or pytest.skip("no uv, which makes environments within seconds: pip install uv")


def make(folder: Path, *packages: str) -> Path:
    """The Python of a new environment that has these packages, of this Python's version."""
    python = folder / "bin" / "python"
    for command in (["venv", "-p", sys.executable, folder], ["pip", "install", "-p", python, *packages]):
        process = subprocess.run([uv(), *command, "-q"], capture_output=True, text=True)
        assert process.returncode == 0, process.stderr[-3000:]
    return python
