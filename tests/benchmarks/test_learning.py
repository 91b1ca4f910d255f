"""`benchmarks/learning.py`: its data, its log and what is made of it."""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections import Counter

import keras
import numpy as np
import pytest
from benchmark_modules import BENCHMARKS, imported

from keras_transformers.models import decoder, encoder_decoder

LOG = BENCHMARKS / "learning.jsonl"
VOCABULARIES = {"copy": 17, "recall": 144, "shakespeare": 65, "translation": 1000}


learning, tasks, report = map(imported, ("learning", "learning_tasks", "learning_report"))
ROWS = report.read(LOG)


def test_copies_are_of_the_given_lengths():
    texts, targets = tasks.copies(200, seed=0)
    assert texts == [target + "|" for target in targets] and {len(target) for target in targets} == set(tasks.COPIED)


def test_a_key_means_one_value_in_all_of_a_text():
    texts = tasks.recalls(50, seed=0)
    assert {len(text) for text in texts} == {2 * tasks.PAIRS}
    meanings = [set(zip(text[::2], text[1::2], strict=True)) for text in texts]
    assert all(len(meaning) == len(dict(meaning)) for meaning in meanings)
    assert len({value for meaning in meanings for key, value in meaning if key == "a"}) > 1  # and not in all texts


def test_distances_are_those_to_the_value_that_is_asked_for():
    text = tasks.recalls(1, seed=3)[0]
    distances = tasks.recall_distances(text)
    asked = np.flatnonzero(distances)
    assert asked.size and all(text[place + 1] == text[place - distances[place]] for place in asked)
    firsts = [place for place in range(0, len(text), 2) if text[place] not in text[:place:2]]
    assert not distances[firsts].any() and asked.size == tasks.PAIRS - len(firsts)
    assert distances.max() <= tasks.REACHES[-1]


def test_runs_that_the_log_has_are_not_repeated(monkeypatch, tmp_path):
    log, commands = tmp_path / "log.jsonl", []
    log.write_text(json.dumps({"experiment": "copy", "model": "lstm", "seed": 1}) + "\n")
    monkeypatch.setattr(learning.subprocess, "run", lambda command, check: commands.append(command[-3:]))
    options = {"experiments": ["copy", "shakespeare"], "models": [], "seeds": [0, 1]}
    learning.run(argparse.Namespace(data=tmp_path, log=log, **options))
    assert ["copy", "lstm", "0"] in commands and ["copy", "lstm", "1"] not in commands
    assert len(commands) == 2 * (len(tasks.COPY.models) + len(tasks.SHAKESPEARE.models)) - 1


def test_the_log_is_whole():
    """A run of it is what the command makes today: the same models, updates and rates."""
    assert LOG.stat().st_size <= 150_000
    runs = Counter((row["experiment"], row["model"], row["seed"]) for row in ROWS)
    assert set(runs.values()) == {1}
    for row in ROWS:
        experiment = tasks.EXPERIMENTS[row["experiment"]]
        points = list(range(experiment.every, experiment.updates + 1, experiment.every))
        assert row["updates"] == points and row["rate"] == experiment.rate
        for clock in report.CLOCKS:
            assert len(row[clock]) == len(points) and (np.diff(row[clock]) > 0).all()
        for values in row["measured"].values():
            assert len(values) == len(points) and np.isfinite(values).all()


@pytest.mark.parametrize("experiment", tasks.EXPERIMENTS)
def test_parameters_are_matched_and_as_in_the_log(experiment):
    counts = {}
    for name, make_config in tasks.EXPERIMENTS[experiment].models.items():
        two_stacks = {"kind": "encoder_decoder", "pad_id": 0, "eos_ids": [1]}
        facts = two_stacks if experiment == "translation" else {"kind": "decoder"}
        config = make_config(VOCABULARIES[experiment], max_length=64, **facts)
        with keras.StatelessScope(initialize_variables=False):
            counts[name] = {"decoder": decoder, "encoder_decoder": encoder_decoder}[config.kind](config).count_params()
    assert max(counts.values()) <= 1.05 * min(counts.values())
    for model, runs in report.by_model(ROWS, experiment).items():
        # A head may add a bias of the logits.
        assert {run["parameters"] - counts[model] for run in runs} <= {0, VOCABULARIES[experiment]}


def test_the_table_is_made_of_the_log():
    text = report.table(ROWS)
    for experiment in report.HEADLINES:
        for model, runs in report.by_model(ROWS, experiment).items():
            after = re.search(
                rf"### {experiment}, .*? updates\n.*?(^\| {model} \|.*?$)", text, re.DOTALL | re.MULTILINE
            )
            cells = [cell.strip() for cell in after.group(1).strip("|").split("|")]
            assert cells[:3] == [model, str(runs[0]["parameters"]), str(len(runs))]
            last = [statistics.mean(run["measured"][name][-1] for run in runs) for name in runs[0]["measured"]]
            assert [float(cell.split(" ± ")[0]) for cell in cells[5:]] == pytest.approx(last, abs=5.1e-4)


def test_no_run_is_compared_at_seconds_that_it_did_not_reach():
    for experiment in report.HEADLINES:
        for axis in report.CLOCKS:
            rows = [row for row in ROWS if row["experiment"] == experiment]
            if rows:
                assert all(row[axis][-1] >= report.limit(rows, experiment, axis) for row in rows)


@pytest.mark.slow
def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    paths = report.plot(ROWS, tmp_path)
    assert {path.stem for path in paths} == {row["experiment"] for row in ROWS}
    assert all(path.stat().st_size > 5_000 for path in paths)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["transformer", "lstm", "convolution"])
def test_a_short_run(model, monkeypatch, tmp_path):
    short = tasks.RECALL._replace(updates=4, every=2)
    monkeypatch.setattr(tasks, "RECALL", short)
    monkeypatch.setitem(tasks.EXPERIMENTS, "recall", short)
    row = learning.learn("recall", model, tmp_path, 0)
    assert row["updates"] == [2, 4] and list(row["measured"]) == [str(reach) for reach in tasks.REACHES]
    assert 0 < row["cpu_seconds"][0] < row["cpu_seconds"][1]
    assert all(0 <= value <= 0.5 for values in row["measured"].values() for value in values)  # of eight values
