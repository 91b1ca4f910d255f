"""The head of question answering: two logits a token, and none for padding."""

from __future__ import annotations

import bert_model
import keras
import numpy as np
import pytest

from keras_transformers.heads import span_head
from keras_transformers.layers.attention.masks import NEVER
from keras_transformers.models import encoder


def span_model(dtype=None):
    keras.utils.set_random_seed(0)
    config = bert_model.small_config()
    backbone = encoder(config, dtype=dtype)
    logits = span_head(config, backbone.output["hidden_states"], backbone.input["padding_mask"], dtype)
    return keras.Model(backbone.input, {"logits": logits, **backbone.output}), config


@pytest.mark.integration
def test_a_dense_layer_on_each_token():
    model, config = span_model()
    inputs = bert_model.batch(config)
    outputs = {name: np.array(value) for name, value in model(inputs).items()}
    kernel, bias = model.get_layer("qa_outputs").get_weights()
    assert kernel.shape == (16, 2) and bias.shape == (2,)
    real = inputs["padding_mask"].astype(bool)
    np.testing.assert_allclose(outputs["logits"][real], outputs["hidden_states"][real] @ kernel + bias, atol=1e-5)
    assert (outputs["logits"][~real] == NEVER).all()


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_gives_finite_numbers_in_float32(dtype):
    model, config = span_model(dtype)
    logits = model(bert_model.batch(config))["logits"]
    assert keras.backend.standardize_dtype(logits.dtype) == "float32" and np.isfinite(np.array(logits)).all()


@pytest.mark.integration
def test_more_padding_changes_nothing():
    model, config = span_model()
    short, long = (bert_model.batch(config, lengths) for lengths in ((5, 3), (5, 3)))
    long = {name: np.pad(array, [[0, 0], [0, 3]]) for name, array in long.items()}
    one, other = (np.array(model(inputs)["logits"]) for inputs in (short, long))
    real = short["padding_mask"].astype(bool)
    np.testing.assert_allclose(one[real], other[:, :5][real], atol=1e-5)
