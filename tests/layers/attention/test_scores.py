from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from keras import ops

from keras_transformers.layers.attention.scores import ScoreOptions, Visible, attention_weights


def test_masked_keys_have_no_weight():
    query, key, mask = normal(1, 2, 3, 4), normal(1, 2, 5, 4, seed=1), np.arange(5)[None, None] < 2
    weights = to_numpy(attention_weights(query, key, ScoreOptions(Visible(mask), normal(1, 2, 3, 5))))
    assert not weights[..., 2:].any()
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("floatx", ["float16", "bfloat16", "float32"])
def test_masks_do_not_depend_on_the_default_float_type(floatx):
    query, key = normal(2, 2, 3, 4, scale=100), normal(2, 2, 5, 4, seed=1, scale=100)
    mask = np.array([[[True, True, False, False, False]], [[False] * 5]])
    usual = keras.config.floatx()
    keras.config.set_floatx(floatx)
    try:
        weights = to_numpy(attention_weights(query, key, ScoreOptions(Visible(mask))))
    finally:
        keras.config.set_floatx(usual)
    assert not weights[0, ..., 2:].any()
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)  # finite where no key may be seen


def test_hidden_keys_with_infinite_scores_have_no_weight():
    query, key = np.full((1, 1, 3, 1), 400.0), np.array([[[[1.0], [1.0], [200.0]]]])
    mask = np.array([[[True, True, False]]])  # the third score, 80,000, is above the largest float16
    query, key = ops.cast(query, "float16"), ops.cast(key, "float16")
    weights = to_numpy(attention_weights(query, key, ScoreOptions(Visible(mask))))
    np.testing.assert_array_equal(weights[0, 0], [[0.5, 0.5, 0]] * 3)


def test_a_query_that_sees_no_key_may_have_a_bias_of_minus_infinity():
    query, bias = normal(1, 2, 3, 4), np.full((1, 2, 3, 3), -np.inf)
    options = ScoreOptions(Visible(np.zeros((1, 3, 3), bool)), bias)
    weights = to_numpy(attention_weights(query, query, options))
    np.testing.assert_allclose(weights, 1 / 3, atol=1e-6)
