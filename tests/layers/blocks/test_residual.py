from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, randomize, to_numpy

from keras_transformers.layers import residual
from keras_transformers.layers.core.dense import dense_initializer
from keras_transformers.layers.core.layer_norm import make_norm


def test_post_norm_normalises_the_sum():
    output = residual(2.0, lambda x: (3 * x, "more"), lambda x: x / 10, lambda x: x + 1, "post")
    assert output == ((2.0 + (3 * 2.0 + 1)) / 10, "more")


def test_pre_norm_normalises_the_sublayers_input():
    output = residual(2.0, lambda x: (3 * x, "more"), lambda x: x / 10, lambda x: x + 1, "pre")
    assert output == (2.0 + (3 * 0.2 + 1), "more")


@pytest.mark.parametrize(("norm", "mean"), [("layer", 1), ("rms", 0)])
def test_norms_are_their_formulas(norm, mean):
    x = normal(2, 3, 8, scale=3) + 1
    centred = x - mean * x.mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(to_numpy(make_norm(norm, 1e-3, "float32", "norm")(x)), expected, atol=1e-5)


def test_an_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="received 'batch'"):
        make_norm("batch", 1e-3, "float32", "norm")


def test_initialisers():
    glorot = to_numpy(dense_initializer(None, gain=0.5)((400, 200)))
    assert np.abs(glorot).max() == pytest.approx(0.5 * (6 / 600) ** 0.5, rel=0.01)
    assert to_numpy(dense_initializer(0.02)((4000,))).std() == pytest.approx(0.02, rel=0.15)


@pytest.mark.parity
def test_parity_with_llamas_norm():
    import torch
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    x = normal(2, 3, 8, scale=3)
    ours = make_norm("rms", 1e-6, "float32", "norm")
    ours.build(x.shape)
    randomize(ours)
    theirs = LlamaRMSNorm(8, eps=1e-6)
    theirs.weight.data = torch.tensor(to_numpy(ours.weights[0]))
    np.testing.assert_allclose(to_numpy(ours(x)), theirs(torch.tensor(x)).detach().numpy(), atol=1e-5)
