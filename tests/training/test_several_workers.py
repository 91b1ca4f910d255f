"""Processes that train together take the steps of one, and end together."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from clusters import run_workers

SCRIPT = Path(__file__).with_name("workers.py")
CASES = ("encoder", "encoder accumulation", "decoder", "seq2seq", "encoder bfloat16")


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
    losses = [step["cross_entropy"] for step in expected["steps"]]
    assert len(losses) >= 8 and losses[-1] < 0.98 * losses[0]  # they learn
    for found in results(folder, strategy, workers):
        for step, other in zip(found[case]["steps"], expected["steps"], strict=True):
            np.testing.assert_allclose([*step.values()], [*other.values()], **tolerance)
        for name, values in expected["history"].items():
            np.testing.assert_allclose(found[case]["history"][name], values, **tolerance)
        np.testing.assert_allclose(found[case]["weights"], expected["weights"], **tolerance)
