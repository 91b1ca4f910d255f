"""Weights of tokens from logits: both ways of pooling, padding, and the largest ones."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from keras_transformers.heads.token_weights import largest, token_weights

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("activation", ["relu", "log1p_relu"])
@pytest.mark.parametrize("pooling", ["max", "sum"])
def test_padding_gives_no_weight(pooling, activation):
    logits = RANDOM.normal(size=(3, 5, 7)).astype(np.float32)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
    found = ops.convert_to_numpy(token_weights(logits, mask, pooling, activation))
    weights = np.log1p(np.maximum(logits, 0))
    weights = np.log1p(weights) if activation == "log1p_relu" else weights
    for row, (of_row, length) in zip(found, [(weights[0], 5), (weights[1], 2)], strict=False):
        np.testing.assert_allclose(row, getattr(of_row[:length], pooling)(axis=0), rtol=1e-5)
    assert not found[2].any()


def test_half_precision_is_summed_in_float32():
    logits = np.full((1, 3000, 2), 1.7, np.float16)
    found = ops.convert_to_numpy(token_weights(logits, np.ones((1, 3000)), "sum"))
    np.testing.assert_allclose(found, 3000 * np.log1p(np.float32(logits[0, 0, 0])), rtol=1e-4)


@pytest.mark.parametrize("count", [1, 3, 6, None])
def test_the_largest(count):
    weights = np.array([[3.0, 1.0, 3.0, 0.0, 2.0, 3.0], [0.0, 0.0, 0.0, 5.0, 0.0, 0.0]])
    found = ops.convert_to_numpy(largest(weights, count))
    for row, kept in zip(weights, found, strict=True):
        order = np.argsort(-row, kind="stable")[:count]
        np.testing.assert_array_equal(kept, np.where(np.isin(np.arange(6), order), row, 0))
