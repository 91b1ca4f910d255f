"""`benchmarks/loading.py`: what it measures and prints."""

from __future__ import annotations

import sys

import pytest
import tiny
from benchmark_modules import BENCHMARKS, imported

from keras_transformers.tasks import Task

loading = imported("loading")


def test_medians_and_ratios(capsys):
    runs = [{"processor": seconds, "wall": 2 * seconds, "MB": 10.0} for seconds in (1.0, 9.0, 2.0)]
    loading.report("a model", {"ours": runs, "other": [{"processor": 1.0, "wall": 1.0, "MB": 5.0}]})
    ours, other = capsys.readouterr().out.splitlines()
    assert ours.split()[2:] == ["ours", "2.00", "s", "4.00", "s", "wall", "10", "MB", "1.00", "of", "ours"]
    assert other.split()[2:] == ["other", "1.00", "s", "1.00", "s", "wall", "5", "MB", "0.50", "of", "ours"]


@pytest.mark.slow
def test_a_small_model(tmp_path, monkeypatch, capsys):
    Task("masked_lm", tiny.config(), tiny.tokenizer()).save(tmp_path / "model")
    command = [str(BENCHMARKS / "loading.py"), "--models", str(tmp_path / "model"), "--turns", "1", "--peers", "ours"]
    monkeypatch.setattr(sys, "argv", command)
    loading.main()
    assert capsys.readouterr().out.split()[1:2] == ["ours"]
