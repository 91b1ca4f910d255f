"""Scripts in a Python of their own, for what must be settled before TensorFlow or Keras is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HELPERS = Path(__file__).resolve().parent
ROOT = HELPERS.parents[1]


def run(script: str, *arguments: str, **environment: str) -> str:
    """What a script prints; its first argument is the folder of the helpers."""
    process = subprocess.run(
        [sys.executable, "-c", script, HELPERS, *arguments], capture_output=True, text=True, cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout


ON_JAX = """
import json, sys
sys.modules["tensorflow"] = None
sys.path.insert(0, sys.argv[1])
"""


def run_on_jax(script: str, *arguments: str) -> str:
    """What a script prints that has JAX and no TensorFlow."""
    pytest.importorskip("jax")
    return run(ON_JAX + script, *arguments, KERAS_BACKEND="jax")
