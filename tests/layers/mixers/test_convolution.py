from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from layer_checks import check_layer

from keras_transformers.layers import Convolution

B, T, D, U = 2, 5, 4, 6
POSITIONS = np.array([[0, 1, 2, 3, 4], [0, 1, 0, 1, 2]], "int32")
MASK = np.array([[[True] * 5], [[True, True, True, False, False]]])


@pytest.mark.integration
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("case", ["decoder", "encoder", "cached"])
def test_layer(case, gated, tmp_path):
    options, arguments = {"units": U, "gated": gated}, {"hidden_states": normal(B, T, D), "positions": POSITIONS}
    if case == "encoder":
        options |= {"units": D, "kernel_size": 5, "use_bias": False}
        arguments = {"hidden_states": normal(B, T, D), "attention_mask": MASK}
    if case == "cached":
        places = 1 + POSITIONS[:1].repeat(B, 0)
        arguments |= {"positions": places, "cache": {"key": normal(B, 1, 7, D, seed=4)}, "cache_positions": places}
    check_layer(Convolution, options, arguments, tmp_path)


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
@pytest.mark.parametrize("padding", ["causal", "same"])
def test_it_is_the_layer_of_keras(kernel_size, padding):
    layer, x = Convolution(D, kernel_size, activation="relu"), normal(B, T, D)
    where = {"positions": np.arange(T)[None]} if padding == "causal" else {"attention_mask": np.ones((B, 1, T), bool)}
    layer(x, **where)
    theirs = keras.layers.Conv1D(D, kernel_size, padding=padding, activation="relu")
    theirs(x)
    theirs.set_weights([to_numpy(weight) for weight in randomize(layer).weights])
    np.testing.assert_allclose(to_numpy(layer(x, **where)), to_numpy(theirs(x)), atol=1e-5)


def test_gates():
    """Half of the channels, each times a number of the other half."""
    layer, x = Convolution(D, 1, activation="sigmoid", gated=True), normal(B, T, D)
    layer(x, positions=POSITIONS)
    kernel, bias = (to_numpy(weight) for weight in randomize(layer).weights)
    channels = x @ kernel[0] + bias
    expected = channels[..., :D] / (1 + np.exp(-channels[..., D:]))
    np.testing.assert_allclose(to_numpy(layer(x, positions=POSITIONS)), expected, atol=1e-5)


@pytest.mark.parametrize("kernel_size", [4, 0, -1, 3.0, "3", True])
def test_no_such_kernel(kernel_size):
    with pytest.raises(ValueError, match="kernel_size must be an odd number from 1 on: received"):
        Convolution(4, kernel_size)


def test_a_text_shorter_than_the_kernel():
    """The first one that a layer gets, too."""
    layer = Convolution(D, kernel_size=5)
    short = layer(normal(B, 1, D), positions=np.zeros((1, 1), "int32"))
    whole = layer(normal(B, 1, D).repeat(T, axis=1), positions=np.arange(T)[None])
    np.testing.assert_allclose(to_numpy(short), to_numpy(whole)[:, :1], atol=1e-6)


def test_without_a_mask_all_tokens_are_real():
    layer, x = Convolution(U), normal(B, T, D)
    found, expected = layer(x), layer(x, attention_mask=np.ones((B, 1, T), bool))
    np.testing.assert_array_equal(to_numpy(found), to_numpy(expected))
