"""Models and batches spread over 8 devices take the steps that one device takes, and each device holds its part."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT, SCRIPT = Path(__file__).parents[2], Path(__file__).with_name("sharded.py")
QUICK = ["encoder-data", "encoder-1x8", "decoder-2x4", "grouped-1x8", "encoder_decoder-4x2"]
MODELS, LAYOUTS = ("encoder", "decoder", "grouped", "encoder_decoder"), ("data", "1x8", "2x4", "4x2")
SLOW = [f"{model}-{layout}" for model in MODELS for layout in LAYOUTS if f"{model}-{layout}" not in QUICK]
SLOW += ["task-data", "task-2x4"]  # it has four heads


def run(*names):
    """What `sharded.py` prints of each run, by its name."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(SCRIPT), *names]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("RESULT"))


@pytest.fixture(scope="module")
def results():
    return run(*[f"{model}-one" for model in MODELS], *QUICK)


def check_same_steps(found, one):
    assert len(one["losses"]) >= 6 and len(set(one["losses"])) == len(one["losses"])
    np.testing.assert_allclose(found["first"], one["first"], rtol=1e-6)
    np.testing.assert_allclose(found["losses"], one["losses"], rtol=1e-5)
    np.testing.assert_allclose(found["weights"], one["weights"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["scores"], one["scores"], rtol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize("name", QUICK)
def test_the_steps_of_one_device(results, name):
    check_same_steps(results[name], results[name.split("-")[0] + "-one"])


@pytest.mark.slow
def test_the_steps_of_one_device_in_every_layout():
    found = run(*[f"{model}-one" for model in (*MODELS, "task")], *SLOW)
    for name in SLOW:
        check_same_steps(found[name], found[name.split("-")[0] + "-one"])


PARTS = {"query": 8, "key": 8, "value": 8, "intermediate": 8, "embeddings": 8, "masked_lm_bias": 8, "attention_norm": 1}


@pytest.mark.integration
def test_each_device_holds_an_eighth(results):
    one, found = results["encoder-one"]["shapes"], results["encoder-1x8"]["shapes"]
    for path, shapes in one.items():
        expected = next((parts for name, parts in PARTS.items() if f"_{name}_" in path.replace("/", "_")), None)
        assert len(found[path]) == 8
        if expected and "segment" not in path and "position_" not in path:
            assert [np.prod(shape) * expected for shape in found[path]] == [np.prod(shapes[0])] * 8, path
    slots = [path for path in one if path.startswith("adamw/encoder_block_0_feed_forward_output_kernel")]
    assert len(slots) == 4  # two moments, an average, a sum of gradients
    assert all(found[path] == [[16, 32]] * 8 for path in slots)
    assert results["encoder-1x8"]["bytes"] < results["encoder-one"]["bytes"] / 4
    assert results["encoder-data"]["bytes"] == results["encoder-one"]["bytes"]


@pytest.mark.integration
def test_keys_and_values_whose_heads_do_not_divide_stay_whole(results):
    shapes = results["grouped-1x8"]["shapes"]
    assert shapes["decoder_block_0/attention/key/kernel"] == [[32, 8]] * 8
    assert shapes["decoder_block_0/attention/query/kernel"] == [[32, 4]] * 8
