from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from keras import ops

from keras_transformers.families import gpt2
from keras_transformers.heads import language_model_head
from keras_transformers.heads.language_model import head_of, logits_of
from keras_transformers.models import decoder


@pytest.mark.parametrize(
    "options",
    [{}, {"tie_embeddings": False}, {"output_bias": True}, {"scale_outputs": True}, {"logits_soft_cap": 0.5}],
    ids=str,
)
def test_logits_are_products_with_the_output_matrix(options):
    config = gpt2(20, 1, 2, 8, max_length=16, **options)
    body = decoder(config)
    logits = language_model_head(config, body.get_layer("token_embedding"), body.output["hidden_states"])
    model = keras.Model(body.input, {"logits": logits, "hidden_states": body.output["hidden_states"]})
    for weight in model.weights:
        weight.assign(normal(*weight.shape, seed=len(weight.path)))

    ids = np.array([[3, 5, 7]], "int32")
    outputs = {name: to_numpy(x) for name, x in model({"token_ids": ids, "padding_mask": np.ones_like(ids)}).items()}
    weights = {weight.path: to_numpy(weight) for weight in model.weights}
    tied = weights["token_embedding/embeddings"].T
    expected = outputs["hidden_states"] @ (tied if config.tie_embeddings else weights["lm_head/kernel"])
    expected = expected * (8**-0.5 if config.scale_outputs else 1) + weights.get("output_bias/bias", 0)
    if cap := config.logits_soft_cap:
        expected = cap * np.tanh(expected / cap)
    np.testing.assert_allclose(outputs["logits"], expected, atol=1e-4)
    np.testing.assert_allclose(to_numpy(head_of(config, model)(outputs["hidden_states"])), expected, atol=1e-4)


def test_the_bias_comes_last():
    config = gpt2(20, 1, 2, 16, scale_outputs=True)
    logits = logits_of(config, ops.ones((1, 16)), lambda x: 2 * x, lambda x: x + 1)
    np.testing.assert_allclose(to_numpy(logits), np.full((1, 16), 1.5))
