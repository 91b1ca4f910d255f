"""docs/training/ray_train.py: Ray's workers take the steps of one process, though one of them is killed."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import zoo
from keras_transformers.training.resuming.run_state import load_latest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "training" / "ray_train.py"
LIMIT = 900  # seconds, on a machine that does much else
ROWS, EPOCHS, BATCH_SIZE = 37, 3, 8  # a last batch of 5
# This machine only, in folders of the test; nothing is sent to Ray's makers.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
QUIET |= {"TF_NUM_INTRAOP_THREADS": "1", "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": str(LIMIT)}
QUIET |= {"RAY_agent_register_timeout_ms": str(1000 * LIMIT)}

pytestmark = [pytest.mark.slow, pytest.mark.ray]


@pytest.fixture
def rows(tmp_path) -> list[dict[str, str]]:
    """Messages, which also stand in train.csv."""
    with open(ROOT / "zoo/bundled/sample_messages/train.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:ROWS]
    with open(tmp_path / "train.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["text", "label"])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def workers_below(process: int) -> list[int]:
    """Ray's training workers among the descendants of a process."""
    table = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in table.splitlines()]
    found = {process}
    for _ in range(4):  # the script, raylet, a worker
        found |= {int(pid) for pid, parent, *_ in lines if int(parent) in found}
    return [int(pid) for pid, _, *text in lines if int(pid) in found and "TrainWorker" in " ".join(text)]


def wait_for(path: Path, process: subprocess.Popen) -> None:
    end = time.monotonic() + LIMIT
    while not path.exists():
        assert process.poll() is None and time.monotonic() < end, path
        time.sleep(0.02)


def test_two_workers_take_the_steps_of_one_process_though_one_is_killed(tmp_path, rows):
    pytest.importorskip("ray", reason='needs Ray Train: pip install -e ".[ray]"')
    out, log = tmp_path / "out", tmp_path / "log"
    sizes = ["--epochs", str(EPOCHS), "--batch-size", str(BATCH_SIZE), "--dropout", "0"]
    command = [sys.executable, SCRIPT, "--train", tmp_path / "train.csv", "--out", out, *sizes]
    variables = os.environ | QUIET | {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    with open(log, "w") as file, subprocess.Popen(command, env=variables, stdout=file, stderr=file) as ray:
        try:
            wait_for(out / "state" / "epoch-00001-batch-00000000.npz", ray)
            *_, victim = workers_below(ray.pid)
            os.kill(victim, signal.SIGKILL)
            assert ray.wait(LIMIT) == 0, log.read_text()[-3000:]
        finally:
            ray.terminate()
    assert log.read_text().count("Started training worker group") == 2  # and once more

    texts, labels = ([row[name] for row in rows] for name in ("text", "label"))
    task = zoo.load("minilm_mini_en", labels=sorted(set(labels)), dropout=0.0, seed=0)
    expected = task.fit(texts, labels, epochs=EPOCHS, batch_size=BATCH_SIZE, verbose=0).history
    state, _ = load_latest(out / "state")
    del expected["loss"]  # a mean of batch means, of one worker
    assert len(expected["cross_entropy"]) == EPOCHS
    for name, values in expected.items():
        np.testing.assert_allclose(state["history"][name], values, rtol=1e-5, atol=1e-5)
    found = zoo.load(out / "model")
    for one, other in zip(found.model.get_weights(), task.model.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
