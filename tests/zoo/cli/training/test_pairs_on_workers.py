"""`train --source --target` on two workers: one vocabulary, one plan, the weights of one worker; killed, they go on."""

from __future__ import annotations

import json
import time
from pathlib import Path

import clusters
import numpy as np
import pytest
import rule_pairs
from safetensors.numpy import load_file

from zoo.scratch.round_log import read_rounds

OPTIONS = (
    "--layers", "1", "--heads", "2", "--hidden-dim", "32", "--max-length", "32", "--vocabulary", "150",
    "--dropout", "0", "--batch-tokens", "512", "--steps", "12", "--rounds", "2", "--dtype", "float32",
    "--held-out", "0.1",
)  # fmt: skip


def kill_after_a_round(command: list[str], states: Path) -> None:
    """Kill two workers once a state of the second round is there."""
    workers, deadline = clusters.start_workers(command, 2), time.monotonic() + clusters.LIMIT
    while not [*states.glob("epoch-00001-*")] and time.monotonic() < deadline and workers[0].poll() is None:
        time.sleep(0.05)
    for worker in workers:
        worker.kill()
    outputs = [worker.communicate()[0] for worker in workers]
    assert [*states.glob("epoch-00001-*")], outputs[0][-3000:]


@pytest.mark.slow
def test_two_workers_that_are_killed_end_as_one(tmp_path):
    source, target = rule_pairs.write(tmp_path, 300)

    def command(out: str, *more: str) -> list[str]:
        files = ["--source", str(source), "--target", str(target), "--out", str(tmp_path / out)]
        return ["-m", "zoo", "train", *files, *OPTIONS, *more]

    (alone,) = clusters.run_workers(command("one"), 1)
    several = command("two", "--strategy", "multi_worker")
    kill_after_a_round(several, tmp_path / "two.run/states")
    assert not (tmp_path / "two").exists()
    chief, other = clusters.run_workers(several, 2)
    assert "bleu" in chief and "held-out perplexity" in chief and "(measured)" not in other

    figures = [
        json.loads(next(line for line in reversed(text.splitlines()) if line.startswith("{")))
        for text in (alone, chief)
    ]
    assert figures[0]["perplexity"] == pytest.approx(figures[1]["perplexity"], rel=1e-4)
    assert figures[0]["chrf"] == pytest.approx(figures[1]["chrf"], abs=0.1)
    one, two = (load_file(tmp_path / out / "model.safetensors") for out in ("one", "two"))
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(one[name], two[name], atol=2e-4, err_msg=name)
    rounds = read_rounds(tmp_path / "two.run")
    assert [row["round"] for row in rounds] == [1, 2] and all("bleu" in row for row in rounds)
