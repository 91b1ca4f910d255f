"""One step on 1, 2 and 4 replicas is one step: loss, clipping, metrics, accumulation, resuming."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parents[1] / "replicas.py"
RUNS = ["clipped", "averaged", "tiny_batch", "accumulated", "heads", "half", "overflow", "resumed"]


@pytest.fixture(scope="session")
def results():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "CUDA_VISIBLE_DEVICES": "-1"}
    found = {}
    for replicas in (1, 2, 4):
        command = [sys.executable, str(SCRIPT), str(replicas), *RUNS]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        found[replicas] = dict(json.loads(x[6:]) for x in done.stdout.splitlines() if x.startswith("RESULT"))
    return found


def weights_differ(one, other):
    return np.abs(np.subtract(one["weights"], other["weights"])).max()


@pytest.mark.parametrize("replicas", [2, 4])
@pytest.mark.parametrize("name", ["clipped", "averaged", "tiny_batch", "heads"])
def test_same_steps_and_same_metrics(results, name, replicas):
    one, many = results[1][name], results[replicas][name]
    assert weights_differ(one, many) < 2e-6
    for part in ("history", "scores"):
        assert one[part].keys() == many[part].keys()
        for key, value in one[part].items():
            assert many[part][key] == pytest.approx(value, rel=1e-4, abs=1e-6), key


def test_clipping_and_averaging_did_something(results):
    assert weights_differ(results[1]["clipped"], results[1]["averaged"]) > 1e-3


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_accumulation_equals_one_large_batch(results, replicas):
    run = results[replicas]["accumulated"]
    assert run["updates"] == 3
    assert weights_differ(run["parts"], run["whole"]) < 2e-6
    assert weights_differ(run["parts"], results[1]["accumulated"]["whole"]) < 2e-6


@pytest.mark.parametrize("replicas", [2, 4])
def test_float16_with_loss_scaling(results, replicas):
    run = results[replicas]["half"]
    assert run["optimizer"] == "LossScaleOptimizer" and run["updates"] >= 5  # the first scale may be too large
    assert weights_differ(run, results[2]["half"]) < 1e-2


@pytest.mark.parametrize("replicas", [2, 4])
@pytest.mark.parametrize("name", ["steps", "accumulated"])
def test_an_overflow_in_the_last_replica_alone(results, name, replicas):
    one, many = results[1]["overflow"][name], results[replicas]["overflow"][name]
    assert np.isfinite(many["weights"]).all() and one["updates"] > 0
    assert (many["updates"], many["scale"]) == (one["updates"], one["scale"])
    assert weights_differ(one, many) < 1e-2


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_resumed_equals_unbroken(results, replicas):
    run = results[replicas]["resumed"]
    assert weights_differ(run["broken"], run["whole"]) == 0
    assert run["broken"]["history"] == run["whole"]["history"]
