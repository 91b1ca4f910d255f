"""TensorFlow's start-up messages, and only they, are kept off stderr."""

from __future__ import annotations

import sys

import pytest
from command_line import python

from zoo.cli.quiet import without_start_up_messages


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
