"""`--hours` is the time of the whole command: measuring stops early, rounds end in time, too short ones are refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from zoo.scratch.new_models import SIZES
from zoo.scratch.plan_table import few_steps
from zoo.scratch.run_plan import Candidate, choose_size, make_plan, with_rows
from zoo.scratch.run_settings import RunSettings
from zoo.scratch.speed import StepTimer
from zoo.scratch.time_left import EndInTime, TimeLeft

TOKENS = 16 * 256


class Clock:
    """A clock that stands still, unless it is told to go on."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def settings(**given):
    return RunSettings(**{"model": "gpt2", "text": ("a.txt",), "out": Path("runs/mine")} | given)


def measuring(clock, seconds, speed=1e9):
    """A machine on which measuring a size takes so long."""

    def measure(size):
        clock.now += seconds
        measured.append(size)
        parameters = 12 * size[0] * size[2] ** 2
        return Candidate(size, parameters, parameters / speed, compile_seconds=seconds / 2)

    measured: list[tuple[int, int, int]] = []
    return measure, measured


@pytest.mark.parametrize(
    ("hours", "seconds", "expected"),
    [
        (0.03, 15.0, ["tiny"]), (0.2, 5.0, ["tiny", "mini", "small"]), (0.2, 60.0, ["tiny"]),
        (10.0, 60.0, ["mini", "small", "medium", "base"]), (10.0, 3000.0, ["mini"]),
    ],
)  # fmt: skip
def test_sizes_are_measured_while_there_is_time(hours, seconds, expected):
    clock = Clock()
    measure, measured = measuring(clock, seconds)
    chosen = choose_size(settings(hours=hours), TOKENS, 10**12, measure, TimeLeft(hours, clock=clock))
    assert measured == [SIZES[name] for name in expected]
    assert chosen.size in measured[-2:]


@pytest.mark.parametrize(("took", "seconds"), [(1.0, 0.02), (30.0, 0.1 * (0.85 / 4 + 0.15))])
def test_other_rows_are_measured_or_estimated(took, seconds):
    clock = Clock()
    left = TimeLeft(0.03, clock=clock)
    chosen = left.measure(measuring(clock, took)[0], SIZES["tiny"])._replace(seconds=0.1)
    found = with_rows(chosen, 4, lambda rows: chosen._replace(seconds=0.02, batch_size=rows), left)
    assert (found.batch_size, found.seconds) == (4, pytest.approx(seconds))
    assert with_rows(chosen, chosen.batch_size, None, left) is chosen


def plan(hours, spent=0.0, candidate=None, held_out_rows=50, **given):
    clock = Clock()
    left = TimeLeft(hours, clock=clock)
    clock.now += spent
    candidate = candidate or Candidate(SIZES["tiny"], 400_000, 0.05, compile_seconds=6.0, batch_size=4)
    return make_plan(settings(hours=hours, **given), candidate, 1_000, held_out_rows, 256, left)


def test_all_that_a_command_does_is_in_its_time():
    """108 seconds: 30 are spent, and after them compiling, rounds with their held-out text, and the end."""
    made = plan(0.03, spent=30.0)
    rounds = made.steps * made.seconds + made.rounds * made.held_out_steps * made.seconds / 3
    assert 30 + 1.75 * 6 + rounds + made.ending_seconds == pytest.approx(108, rel=0.05)
    assert plan(0.03, spent=60.0).steps < made.steps < plan(0.03).steps
    assert plan(1.0).steps * 0.05 == pytest.approx(3600 * 0.9, rel=0.05)


def test_the_last_pass_over_held_out_text_takes_a_part_of_the_time():
    candidate = Candidate(SIZES["tiny"], 400_000, 0.05, compile_seconds=1.0, batch_size=4)
    made = plan(0.03, candidate=candidate, held_out_rows=10**6)
    assert made.final_rows * 0.05 / 3 / 4 == pytest.approx(10.8, rel=0.01)
    assert plan(0.03, candidate=candidate, held_out_rows=100).final_rows is None
    assert make_plan(settings(steps=9), candidate, 1_000, 10**6, 256).final_rows is None


@pytest.mark.parametrize(("hours", "spent", "seconds"), [(0.001, 0.0, 0.05), (0.03, 210.0, 0.05), (0.03, 10.0, 20.0)])
def test_a_time_that_teaches_nothing_is_refused(hours, spent, seconds):
    candidate = Candidate(SIZES["tiny"], 400_000, seconds, compile_seconds=3.0)
    with pytest.raises(ValueError, match=rf"--hours {hours} leaves time for \d+ steps of .* Give at least --hours "):
        plan(hours, spent, candidate)


def test_the_least_time_of_the_error_is_enough():
    candidate = Candidate(SIZES["tiny"], 400_000, 1.0, compile_seconds=3.0)
    with pytest.raises(ValueError, match="Give at least") as error:
        plan(0.003, 10.0, candidate)
    hours = float(str(error.value).rpartition("--hours ")[2].split(",")[0])
    assert plan(1.1 * hours, 10.0, candidate).steps >= 190


def test_the_fewest_steps_may_take_a_little_more_than_the_time():
    assert plan(0.03, spent=104.0).steps == 20


def test_few_steps_are_warned_of():
    few = plan(0.03, candidate=Candidate(SIZES["tiny"], 400_000, 1.0))
    (warning,) = few_steps(settings(hours=0.03), few)
    assert f"only {few.steps} steps" in warning
    assert not [*few_steps(settings(hours=1.0), plan(1.0))]
    assert not [*few_steps(settings(steps=3), plan(1.0))]


@pytest.mark.parametrize(("steps", "rounds"), [(7, 1), (20, 2), (35, 3), (199, 19), (2_000, 20)])
def test_a_round_has_a_number_of_steps(steps, rounds):
    made = make_plan(settings(steps=steps), Candidate(SIZES["tiny"], 400_000, 0.05), 1_000, 50, 256)
    assert made.rounds <= rounds and made.round_steps >= min(steps, 10)
    asked = make_plan(settings(steps=4, rounds=4), Candidate(SIZES["tiny"], 400_000, 0.05), 1_000, 50, 256)
    assert (asked.rounds, asked.round_steps) == (4, 1)


@pytest.mark.integration
def test_training_ends_in_time():
    clock = Clock()
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    batches: list[int] = []

    def spend(batch, logs):
        clock.now += 1.0
        batches.append(batch)

    seen = keras.callbacks.LambdaCallback(on_train_batch_end=spend)
    for least, steps in ((0, 7), (20, 20)):
        batches.clear()
        end = EndInTime(TimeLeft(10.0 / 3600, clock=clock), 3.5, least)
        history = model.fit(np.ones((400, 1)), np.ones(400), 4, 5, verbose=0, callbacks=[seen, end])
        assert batches == [*range(steps)] and len(history.epoch) == 1


def test_measuring_a_step_ends_in_time(monkeypatch):
    now = iter(np.arange(0.0, 1000.0, 5.0))
    monkeypatch.setattr("zoo.scratch.speed.time.perf_counter", lambda: next(now))
    timer = StepTimer(least_steps=3, seconds=3.0, warm_up=2, most=8.0)
    timer.set_model(SimpleNamespace(stop_training=False))
    for batch in range(10):
        timer.on_train_batch_end(batch)
        if timer.model.stop_training:
            break
    assert (batch, timer.steps, timer.end - timer.begin) == (2, 1, 5.0)  # the second step is none to warm up
