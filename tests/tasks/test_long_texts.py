"""Texts from which on attention computes its scores in chunks: in fit, in predict and in the export."""

from __future__ import annotations

import bare
import keras
import numpy as np
import pytest
import tiny

from keras_transformers.layers.attention.attention import LINEAR_FROM
from keras_transformers.tasks import Task

LONG = " ".join(["a fine film"] * 1500)  # 4,500 tokens


def make_task() -> Task:
    sizes = {"max_length": LINEAR_FROM + 600, "attention_dropout": 0.1, "hidden_dim": 4, "num_heads": 1}
    return Task("classification", tiny.config(**sizes), tiny.tokenizer(), labels=["bad", "good"])


@pytest.mark.slow
def test_fit_predict_and_export(tmp_path):
    keras.utils.set_random_seed(0)
    task = make_task()
    block = task.model.get_layer("encoder_block_0")
    assert block.attention.linear_from == LINEAR_FROM
    task.fit([LONG, "a dull day"], ["good", "bad"], epochs=1, batch_size=2, verbose=0)
    texts = [LONG, "a dull day", "a fine film " * 3000]
    found = task.predict(texts, batch_size=1)
    assert [answer["truncated"] for answer in found] == [False, False, True]

    task.export(tmp_path / "export")
    served = bare.ask(tmp_path / "export", {"serving_default": {"text": texts}})["serving_default"]
    expected = [list(answer["probabilities"].values()) for answer in found]
    np.testing.assert_allclose(served["probabilities"], expected, atol=1e-5)

    plain = make_task()
    plain.model.get_layer("encoder_block_0").attention.linear_from = None
    plain.model.set_weights(task.model.get_weights())
    answers = [list(answer["probabilities"].values()) for answer in plain.predict(texts, batch_size=1)]
    np.testing.assert_allclose(answers, expected, atol=1e-5)
