"""Commands of `python -m zoo`, in this process or in one of their own, and rows for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from zoo.__main__ import app

ROOT = Path(__file__).resolve().parents[2]
LABELS = {"a fine film": "good", "a dull book": "bad", "the fine day": "good", "the long play": "bad"}
ROWS = [{"text": text, "label": label} for text, label in LABELS.items()]


def invoke(*arguments, **options):
    """On a terminal without colours, wherever the tests run."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"TERM": "dumb"}, **options)


def run(*arguments, stdin: str | None = None) -> str:
    """What a command prints, once it has ended well."""
    result = invoke(*arguments, input=stdin)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def fail(*arguments) -> tuple[int, str]:
    """Exit code and message of a command that fails, with one line on stderr and nothing on stdout."""
    result = invoke(*arguments)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    return result.exit_code, result.stderr


def python(*arguments: str) -> subprocess.CompletedProcess:
    """Python in a process of its own, at the root of the repository, with TensorFlow's usual level of logging."""
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
