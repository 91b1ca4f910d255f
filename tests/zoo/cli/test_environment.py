"""A command prints its answer, and of several workers the chief alone."""

from __future__ import annotations

import json

import pytest
from command_line import python

from zoo.cli.environment import quiet_unless_chief


@pytest.mark.slow
def test_a_command_prints_its_answer_and_nothing_of_tensorflow():
    done = python("-m", "zoo", "predict", "mini_bert_en", "He [MASK] the door.")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith('{"text": "He [MASK] the door."') and done.stdout.count("\n") == 1


@pytest.mark.parametrize(("index", "printed"), [(0, "here\n"), (1, "")])
def test_the_chief_prints(index, printed, monkeypatch, capsys):
    workers = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": index}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(workers))
    with quiet_unless_chief("multi_worker"):
        print("here")
    assert capsys.readouterr().out == printed
