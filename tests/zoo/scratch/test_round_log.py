"""Lines, figures, curve and samples of the rounds of a run."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import keras
import pytest

from zoo.scratch.round_log import CURVE, METRICS, SAMPLES, RoundLog, Units, curve_page, read_rounds


def logged(folder, epochs, first=0, write=None):
    """The log after rounds with perplexities of 8, 4, 2, ..."""
    best = SimpleNamespace(best_epoch=None)
    log = RoundLog(folder, Units(tokens=100, characters=2.0), best, write, "mine")
    log.set_model(keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]))
    log.set_params({"epochs": epochs, "steps": 2})
    for epoch in range(first, epochs):
        log.on_epoch_begin(epoch)
        for batch in range(2):
            log.on_train_batch_end(batch)
        log.on_test_begin()
        best.best_epoch = epoch
        log.on_epoch_end(epoch, {"perplexity": 9.0, "val_perplexity": 8 / 2**epoch, "loss": 1.0, "val_loss": 1.0})
    return log


def test_figures_of_a_round(tmp_path, capsys):
    logged(tmp_path, 2)
    first, second = read_rounds(tmp_path)
    assert (first["round"], first["step"], second["step"]) == (1, 2, 4)
    assert first["loss"] == pytest.approx(math.log(9)) and second["held_out_loss"] == pytest.approx(math.log(4))
    assert second["loss_by_character"] == pytest.approx(math.log(4) / 2)
    assert second["minutes"] >= first["minutes"] and second["tokens_a_second"] > 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and "by character" in lines[0] and lines[1].endswith("best")
    assert "<polyline" in (tmp_path / CURVE).read_text()


def test_a_resumed_run_goes_on_at_its_round(tmp_path):
    logged(tmp_path, 3)
    logged(tmp_path, 4, first=2)  # the state of the third round was lost
    rounds = read_rounds(tmp_path)
    assert [row["round"] for row in rounds] == [1, 2, 3, 4]
    assert [row["step"] for row in rounds] == [2, 4, 6, 8]


def test_samples_now_and_then(tmp_path):
    texts = iter(f"sample {number}" for number in range(9))
    logged(tmp_path, 7, write=lambda: next(texts))
    assert (tmp_path / SAMPLES).read_text() == "round 1:\nsample 0\n\nround 5:\nsample 1\n\nround 7:\nsample 2\n\n"


def test_a_round_that_is_trained_again_has_one_sample(tmp_path):
    """Whatever the samples hold: a process was killed after the sample of the fifth round, before its state."""
    texts = iter(f"round 1:\nsample {number}\n\nround 5:\n" for number in range(9))
    logged(tmp_path, 5, write=lambda: next(texts))
    before = (tmp_path / SAMPLES).read_text()
    logged(tmp_path, 6, first=4, write=lambda: next(texts))
    parts = [f"round {one}:\nround 1:\nsample {two}\n\nround 5:\n\n\n" for one, two in ((1, 0), (5, 1), (5, 2), (6, 3))]
    assert before == parts[0] + parts[1]
    assert (tmp_path / SAMPLES).read_text() == parts[0] + parts[2] + parts[3]


def test_a_loss_that_is_not_finite(tmp_path):
    log = logged(tmp_path, 1)
    log.on_epoch_begin(1)
    log.on_train_batch_end(0)
    log.on_epoch_end(1, {"perplexity": math.inf, "val_perplexity": math.nan, "loss": math.nan, "val_loss": math.nan})
    assert math.isnan(json.loads((tmp_path / METRICS).read_text().splitlines()[-1])["loss"])


def test_a_curve_of_one_point_and_of_none():
    assert "<svg" in curve_page("a <b>", []) and "a &lt;b&gt;" in curve_page("a <b>", [])
    assert "nan" not in curve_page("mine", [{"minutes": 0.0, "loss": 3.0, "held_out_loss": 3.0}])
