"""The command line as a process of its own: what it imports, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_KERAS = """
import runpy, sys
sys.modules.update(dict.fromkeys(["keras", "tensorflow", "tokenizers"]))
for arguments in (["--help"], ["finetune", "--help"], ["list"], ["describe", "mini_bert_en"]):
    sys.argv = ["zoo", *arguments]
    try:
        runpy.run_module("zoo", run_name="__main__")
    except SystemExit as end:
        assert not end.code, arguments
"""


def python(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_help_list_and_describe_come_without_keras():
    done = python("-W", "ignore", "-c", WITHOUT_KERAS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "bert_base_en_uncased" in done.stdout


def test_the_exit_code_and_the_line_of_an_error():
    done = python("-m", "zoo", "describe", "bert_bas")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no model 'bert_bas'") and done.stderr.count("\n") == 1
