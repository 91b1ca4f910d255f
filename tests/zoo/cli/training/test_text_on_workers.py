"""`train --text` on two workers: one corpus, one plan, the weights of one worker."""

from __future__ import annotations

import json

import clusters
import numpy as np
import pytest
from command_line import run
from safetensors.numpy import load_file

TEXT = "".join(f"Line {number}: the cat sat on mat {number % 7}, and the dog ran.\n" for number in range(1_000))
OPTIONS = (
    "--model", "gpt2", "--tokenizer", "character", "--layers", "1", "--heads", "2", "--hidden-dim", "32",
    "--max-length", "32", "--batch-size", "8", "--steps", "12", "--rounds", "2", "--dtype", "float32",
)  # fmt: skip


@pytest.mark.integration
@pytest.mark.usefixtures("quick_speed")
def test_two_workers_train_as_one(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)

    def command(out: str, *more: str) -> list[str]:
        return [
            "-m",
            "zoo",
            "train",
            "--text",
            str(tmp_path / "text.txt"),
            "--out",
            str(tmp_path / out),
            *OPTIONS,
            *more,
        ]

    alone = run(*command("one")[2:])
    chief, other = clusters.run_workers(command("two", "--strategy", "multi_worker"), 2)
    assert "perplexity" in chief and "tokens a second (measured)" not in other

    figures = [
        json.loads(next(line for line in reversed(text.splitlines()) if line.startswith("{")))
        for text in (alone, chief)
    ]
    assert figures[0]["perplexity"] == pytest.approx(figures[1]["perplexity"], rel=1e-4)
    one, two = (load_file(tmp_path / out / "model.safetensors") for out in ("one", "two"))
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(one[name], two[name], atol=2e-4, err_msg=name)
