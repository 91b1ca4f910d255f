"""When a bar of progress is shown."""

from __future__ import annotations

import sys

import pytest

from keras_transformers.tasks.answers import progress
from keras_transformers.tasks.answers.progress import Progress


def shown(capsys, verbose, total=2) -> str:
    bar = Progress(verbose, total)
    bar.add(1)
    bar.add(1)
    bar.finish()
    return capsys.readouterr().out


def test_none_without_a_terminal_or_for_short_work(capsys, monkeypatch):
    assert shown(capsys, 0) == shown(capsys, "auto") == ""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert shown(capsys, "auto") == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert "2/2" in shown(capsys, "auto")


def test_when_asked_for(capsys):
    assert "2/2" in shown(capsys, 1)
    assert shown(capsys, 2).count("\n") == 1
    assert "2" in shown(capsys, 1, total=None)
    with pytest.raises(ValueError, match=r"verbose must be one of .* received 3"):
        Progress(3)
