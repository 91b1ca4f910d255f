"""Processes that train together take the steps of one, and end together."""

from __future__ import annotations

import json
import os
import random
import signal
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from clusters import finish, run_workers, start_workers

SCRIPT = Path(__file__).parents[1] / "several_workers.py"
FAULTS = int(os.environ.get("ZOO_FAULTS", "1"))  # ZOO_FAULTS=20 is the whole matrix, some 15 minutes
DROPOUT = "encoder dropout"
CASES = ("encoder", "encoder accumulation", "decoder", "seq2seq", "encoder bfloat16", "encoder weights")


@cache
def results(folder: Path, strategy: str, workers: int) -> list[dict]:
    """What each worker notes."""
    place = folder / f"{strategy}{workers}"
    place.mkdir(parents=True)
    run_workers([SCRIPT, place, strategy, *CASES], workers)
    return [json.loads((place / f"{index}.json").read_text()) for index in range(workers)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("workers")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("strategy", "workers"), [("mirrored", 1), ("multi_worker", 2), ("multi_worker", 4)])
def test_they_take_the_steps_of_one(folder, strategy, workers, case):
    (one,) = results(folder, "one", 1)
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if "bfloat16" in case else {"rtol": 1e-5, "atol": 1e-5}
    expected = one[case]
    losses = [step["cross_entropy"] for step in expected["steps"].values()]
    assert len(losses) >= 8 and max(losses) - min(losses) > 0.02  # they move
    for found in results(folder, strategy, workers):
        for place, step in expected["steps"].items():
            np.testing.assert_allclose([*found[case]["steps"][place].values()], [*step.values()], **tolerance)
        for name, values in expected["history"].items():
            np.testing.assert_allclose(found[case]["history"][name], values, **tolerance)
        np.testing.assert_allclose(found[case]["weights"], expected["weights"], **tolerance)


def random_places(count: int) -> list[tuple[int, int, int]]:
    """Worker, epoch and batch of each fault; the chief and the other worker in turn."""
    chance = random.Random(1)
    return [(number % 2, *divmod(chance.randrange(10), 5)) for number in range(count)]


def broken_run(folder: Path, place: tuple[int, int, int], number: signal.Signals) -> list[int]:
    """A run of two workers, one of which gets a signal after a batch; their exit codes."""
    environment = {"STATE": str(folder / "state"), "FAULT": ",".join(map(str, (int(number), *place)))}
    codes = [code for code, _ in finish(start_workers([SCRIPT, folder, "multi_worker", DROPOUT], 2, **environment))]
    assert not list(folder.glob("*.json"))  # none came to the end
    return codes


def resumed_equals_unbroken(folder: Path, unbroken: list[dict]) -> None:
    """Goes on with a run, which then ends as the one that nothing broke."""
    run_workers([SCRIPT, folder, "multi_worker", DROPOUT], 2, STATE=str(folder / "state"))
    for index, expected in enumerate(one[DROPOUT] for one in unbroken):
        found = json.loads((folder / f"{index}.json").read_text())[DROPOUT]
        assert found["weights"] == expected["weights"]
        # Sums of metrics are restored to one worker: their rounding may differ in the last bit.
        last = max(expected["steps"])
        assert found["steps"][last] == pytest.approx(expected["steps"][last], rel=1e-6)
        for name, values in expected["history"].items():
            np.testing.assert_allclose(found["history"][name], values, rtol=1e-6)


@cache
def unbroken_run(folder: Path) -> list[dict]:
    place = folder / "unbroken"
    place.mkdir()
    run_workers([SCRIPT, place, "multi_worker", DROPOUT], 2)
    return [json.loads((place / f"{index}.json").read_text()) for index in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("place", random_places(FAULTS), ids=lambda place: "worker{}-epoch{}-batch{}".format(*place))
def test_a_killed_worker_costs_the_steps_since_the_last_state(folder, tmp_path, place):
    codes = broken_run(tmp_path, place, signal.SIGKILL)
    assert codes[place[0]] == -signal.SIGKILL and codes[1 - place[0]] != 0
    resumed_equals_unbroken(tmp_path, unbroken_run(folder))


@pytest.mark.slow
def test_sigterm_to_one_worker_saves_and_ends_all(folder, tmp_path):
    assert broken_run(tmp_path, (1, 1, 2), signal.SIGTERM) == [0, 0]
    assert (tmp_path / "state" / "epoch-00001-batch-00000003.npz").is_file()
    resumed_equals_unbroken(tmp_path, unbroken_run(folder))
