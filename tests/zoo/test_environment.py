"""A command prints its answer, and of several workers the chief alone."""

from __future__ import annotations

import io
import json
import warnings

import pytest
from command_line import python

from zoo.cli.app import spelled
from zoo.terminal.environment import quiet_unless_chief, short_warnings, standard_lines


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


def test_a_warning_is_one_line_in_words_of_the_command_line():
    usual = warnings.formatwarning("old", DeprecationWarning, "a.py", 3)
    with short_warnings(spelled):
        told = warnings.formatwarning(UserWarning("a.txt is odd:\ncheck encoding=."), UserWarning, "a.py", 3)
        assert told == "warning: a.txt is odd: check --encoding.\n"
        assert warnings.formatwarning("old", DeprecationWarning, "a.py", 3) == usual
    assert "a.py" in warnings.formatwarning("odd", UserWarning, "a.py", 3)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "koi8-r", "utf-8-sig"])
def test_lines_of_standard_input(monkeypatch, encoding):
    content = io.BytesIO("привет\r\n\nмир".encode(encoding))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content, encoding="ascii", errors="surrogateescape"))
    assert [*standard_lines("utf-8" if encoding == "utf-8-sig" else encoding, "strict")] == ["привет", "", "мир"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n\xe9t\xe9\n", "standard input, after line 0: 0xe9 cannot be decoded as utf-8 .*encoding=.*--file"),
        ("ab".encode("utf-16-le"), "standard input, line 1: a zero byte"),
    ],
)
def test_standard_input_in_another_encoding(monkeypatch, content, message):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="latin-1"))
    with pytest.raises(ValueError, match=message):
        list(standard_lines("utf-8", "strict"))
