from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from keras import ops

from keras_transformers.layers.attention.products import attention_weights, group, mix, products, ungroup


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_heads_that_share_keys_are_repeated_keys(kv_heads):
    query, key, value = normal(2, 4, 3, 8), normal(2, kv_heads, 5, 8, seed=1), normal(2, kv_heads, 5, 8, seed=2)
    keys, values = (x.repeat(4 // kv_heads, axis=1) for x in (key, value))
    scores = np.einsum("bnth,bnsh->bnts", query, keys)
    np.testing.assert_allclose(to_numpy(products(query, key)), scores, atol=1e-5)
    np.testing.assert_allclose(to_numpy(mix(scores, value)), np.einsum("bnts,bnsh->bnth", scores, values), atol=1e-4)
    np.testing.assert_array_equal(to_numpy(ungroup(group(query, key), query)), query)


def test_masked_keys_have_no_weight():
    query, key, mask = normal(1, 2, 3, 4), normal(1, 2, 5, 4, seed=1), np.arange(5)[None, None] < 2
    weights = to_numpy(attention_weights(query, key, mask, normal(1, 2, 3, 5)))
    assert not weights[..., 2:].any()
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("floatx", ["float16", "bfloat16", "float32"])
def test_masks_do_not_depend_on_the_default_float_type(floatx):
    query, key = normal(2, 2, 3, 4, scale=100), normal(2, 2, 5, 4, seed=1, scale=100)
    mask = np.array([[[True, True, False, False, False]], [[False] * 5]])
    usual = keras.config.floatx()
    keras.config.set_floatx(floatx)
    try:
        weights = to_numpy(attention_weights(query, key, mask))
    finally:
        keras.config.set_floatx(usual)
    assert not weights[0, ..., 2:].any()
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)  # finite where no key may be seen


def test_hidden_keys_with_infinite_scores_have_no_weight():
    query, key = np.full((1, 1, 3, 1), 400.0), np.array([[[[1.0], [1.0], [200.0]]]])
    mask = np.array([[[True, True, False]]])  # the third score, 80,000, is above the largest float16
    weights = to_numpy(attention_weights(ops.cast(query, "float16"), ops.cast(key, "float16"), mask))
    np.testing.assert_array_equal(weights[0, 0], [[0.5, 0.5, 0]] * 3)


def test_a_query_that_sees_no_key_may_have_a_bias_of_minus_infinity():
    query, bias = normal(1, 2, 3, 4), np.full((1, 2, 3, 3), -np.inf)
    weights = to_numpy(attention_weights(query, query, np.zeros((1, 3, 3), bool), bias))
    np.testing.assert_allclose(weights, 1 / 3, atol=1e-6)
