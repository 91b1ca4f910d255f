"""The plan of a run: size by time, steps, rounds, dropout."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.scratch.kept_plan import Plan
from zoo.scratch.new_models import SIZES
from zoo.scratch.run_plan import Candidate, choose_size, make_plan, suited_rows
from zoo.scratch.run_settings import RunSettings

TOKENS = 16 * 256


def settings(**given):
    return RunSettings(**{"model": "gpt2", "text": ("a.txt",), "out": Path("runs/mine")} | given)


def measured(size):
    """A machine that does ten million weights of a batch a second."""
    parameters = 12 * size[0] * size[2] ** 2
    return Candidate(size, parameters, parameters / 1e7)


@pytest.mark.parametrize(("hours", "expected"), [(0.05, "tiny"), (2.0, "mini"), (48.0, "small"), (1000.0, "medium")])
def test_more_time_gives_a_larger_model(hours, expected):
    chosen = choose_size(settings(hours=hours), TOKENS, 10**9, measured)
    assert chosen.size == SIZES[expected]


def test_a_small_corpus_gives_no_large_model():
    assert choose_size(settings(hours=1000.0), TOKENS, 10**6, measured).size == SIZES["mini"]


def test_a_size_that_was_asked_for_is_taken():
    assert choose_size(settings(hours=0.001, size="base"), TOKENS, 10**6, measured).size == SIZES["base"]
    assert choose_size(settings(layers=1, heads=1, hidden_dim=64), TOKENS, 10**6, measured).size == (1, 1, 64)
    assert choose_size(settings(), TOKENS, 10**6, measured).size == SIZES["mini"]


@pytest.mark.parametrize(
    ("given", "seconds", "rows"),
    [
        ({"hours": 1.0}, 0.1, 16),
        ({"hours": 0.05}, 0.05, 16),
        ({"hours": 0.05}, 0.1, 8),
        ({"hours": 0.05}, 10.0, 4),
        ({"hours": 0.05, "batch_size": 32}, 10.0, 32),
        ({"steps": 10}, 10.0, 16),
    ],
)
def test_a_short_run_has_small_batches(given, seconds, rows):
    """In two minutes 824 steps of 16 rows give 1.618 nats a character of Shakespeare, 3,000 steps of 4 rows 1.593."""
    assert suited_rows(settings(**given), Candidate(SIZES["tiny"], 400_000, seconds)) == rows


def test_each_device_has_a_row():
    slow = Candidate(SIZES["tiny"], 400_000, 10.0)
    assert [suited_rows(settings(hours=0.05), slow, replicas) for replicas in (1, 4, 6, 8, 32)] == [4, 4, 8, 8, 16]


def plan(rows=1_000, **given):
    return make_plan(settings(**given), Candidate(SIZES["mini"], 3_000_000, 0.1), rows, 50, 256)


def test_steps():
    assert plan(steps=2_000).steps == 2_000
    assert plan(epochs=2.0).steps == 120  # of 62.5 batches a pass, in 20 rounds
    assert plan(hours=1.0).steps == pytest.approx(36_000 / 1.1, abs=20)  # a tenth measures held-out text
    assert plan().steps == 1_240  # 20 passes: less than 20 tokens a parameter
    assert plan(rows=10**6).steps == 62_500  # one pass: more than 20 tokens a parameter


def test_rounds_add_up_to_the_steps():
    for steps in (1, 2, 7, 40, 53, 997, 2_000):
        made = plan(steps=steps)
        assert made.rounds * made.round_steps >= made.steps == steps
        assert made.rounds <= 20


def test_dropout_by_passes_over_the_text():
    assert [plan(epochs=epochs).dropout for epochs in (1.0, 10.0, 100.0)] == [0.0, 0.1, 0.2]
    assert plan(epochs=100.0, dropout=0.05).dropout == 0.05


def test_measuring_takes_a_small_part_of_a_round():
    made = plan(rows=10**6, epochs=1.0)
    assert made.held_out_steps == 3  # of all 50 rows
    long = make_plan(settings(steps=1_000), Candidate(SIZES["mini"], 3_000_000, 0.1), 10**6, 10**6, 256)
    assert long.held_out_steps == 15  # a third of a step each: a tenth of 50 steps


def test_a_plan_survives_json():
    made = plan(steps=7)
    assert Plan.from_dict(made.to_dict()) == made
