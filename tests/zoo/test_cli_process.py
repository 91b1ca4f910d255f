"""The command line as a process of its own: what it imports, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.cli.quiet import without_start_up_messages

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
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )


def test_help_list_and_describe_come_without_keras():
    done = python("-W", "ignore", "-c", WITHOUT_KERAS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "bert_base_en_uncased" in done.stdout


def test_the_exit_code_and_the_line_of_an_error():
    done = python("-m", "zoo", "describe", "bert_bas")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no model 'bert_bas'") and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_command_prints_its_answer_and_nothing_of_tensorflow():
    done = python("-m", "zoo", "predict", "mini_bert_en", "He [MASK] the door.")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith('{"text": "He [MASK] the door."') and done.stdout.count("\n") == 1


def test_a_service_may_have_closed_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with without_start_up_messages():
        assert sys.stderr is None


START = """
import os, sys
from zoo.cli.quiet import without_start_up_messages
with without_start_up_messages():
    os.write(2, b"I0000 00:00:1.5 1 port.cc:153] oneDNN is on.\\nF0000 00:00:1.5 1 guard.cc:9] no AVX\\n")
    print("WARNING: as Python gives it", file=sys.stderr)
    if len(sys.argv) > 1:
        os.abort()
os.write(2, b"I0000 after the start\\n")
"""


@pytest.mark.parametrize("end", [(), ("abort",)])
def test_errors_at_the_start_are_shown_even_those_that_end_the_process(end):
    done = python("-c", START, *end)
    shown = ["F0000 00:00:1.5 1 guard.cc:9] no AVX", "WARNING: as Python gives it"]
    if end:  # which flushes nothing of Python's
        assert done.returncode < 0 and done.stderr.splitlines()[:1] == shown[:1]
    else:
        assert (done.returncode, done.stderr.splitlines()) == (0, [*shown, "I0000 after the start"])
