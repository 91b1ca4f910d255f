from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.layers.attention.products import group, mix, products, ungroup


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_heads_that_share_keys_are_repeated_keys(kv_heads):
    query, key, value = normal(2, 4, 3, 8), normal(2, kv_heads, 5, 8, seed=1), normal(2, kv_heads, 5, 8, seed=2)
    keys, values = (x.repeat(4 // kv_heads, axis=1) for x in (key, value))
    scores = np.einsum("bnth,bnsh->bnts", query, keys)
    np.testing.assert_allclose(to_numpy(products(query, key)), scores, atol=1e-5)
    np.testing.assert_allclose(to_numpy(mix(scores, value)), np.einsum("bnts,bnsh->bnth", scores, values), atol=1e-4)
    np.testing.assert_array_equal(to_numpy(ungroup(group(query, key), query)), query)
