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
# `python -m zoo`, without what is as well for one worker: graphs are not optimised, samples are short (`quick_speed`).
WORKER = """
import keras_transformers
import tensorflow as tf
from zoo.__main__ import app
from zoo.scratch import speed, text_rounds

tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
text_rounds.SAMPLE_TOKENS, speed.SECONDS, speed.suits_xla = 2, 0.0, lambda *_: False
app()
"""


@pytest.mark.integration
@pytest.mark.usefixtures("quick_speed")
def test_two_workers_train_as_one(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)

    train = ["train", "--text", str(tmp_path / "text.txt"), *OPTIONS, "--out"]
    alone = run(*train, tmp_path / "one")
    two_workers = ["-c", WORKER, *train, tmp_path / "two", "--strategy", "multi_worker"]
    chief, other = clusters.run_workers(two_workers, 2)
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
