"""How far gradients reach, against closed forms."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from small_decoders import small_config

from keras_transformers.analysis.signals.gradient_range import (
    gradient_reach,
    plot_gradient_reach,
    truncated_texts,
    whole_texts,
)
from keras_transformers.layers import Convolution, Recurrence
from keras_transformers.models import decoder

D, T = 4, 8


class Past:
    """A layer of decoders on whole texts."""

    def __init__(self, layer: keras.layers.Layer):
        self.layer = layer

    def __call__(self, x):
        positions = keras.ops.expand_dims(keras.ops.arange(keras.ops.shape(x)[1]), 0)
        return self.layer(x, positions=positions)


@pytest.mark.integration
@pytest.mark.parametrize("strength", [0.5, 1.0, 1.5])
def test_a_linear_recurrence_has_powers(strength):
    """h = W x + s Q h with Q orthogonal: d(output T) / d(input 1) is s^(T - 1) Q^(T - 1) W."""
    layer = Past(Recurrence("simple_rnn", D, activation="linear"))
    reach = gradient_reach(layer, normal(T, D))
    kernel, recurrent, _ = layer.layer.weights
    recurrent.assign(strength * to_numpy(recurrent))
    one = np.linalg.norm(to_numpy(kernel))
    np.testing.assert_allclose([reach(n) for n in range(1, T + 1)], one * strength ** np.arange(T), rtol=1e-4)


@pytest.mark.integration(quick=["1-5"])
@pytest.mark.parametrize(("layers", "kernel_size"), [(1, 3), (2, 3), (1, 5)])
def test_a_convolution_reaches_as_far_as_it_sees(layers, kernel_size):
    stack = [Past(Convolution(D, kernel_size, activation="tanh")) for _ in range(layers)]
    reach = gradient_reach(lambda x: stack[-1](stack[0](x)) if layers == 2 else stack[0](x), normal(T, D))
    norms = np.array([reach(n) for n in range(1, T + 1)])
    field = 1 + layers * (kernel_size - 1)
    assert (norms[:field] > 1e-4).all() and not norms[field:].any()


def make(family):
    config = small_config(family)
    return config, randomize(decoder(config), scale=0.3), normal(T, 16)


@pytest.mark.integration
@pytest.mark.parametrize("family", ["lstm", "gpt2", "cnn"])
def test_it_is_the_derivative(family):
    """By differences in float32."""
    config, model, states = make(family)
    function = whole_texts(config, model)
    columns = []
    for index in range(16):
        change = np.zeros_like(states)
        change[0, index] = 1e-2
        ends = [to_numpy(function((states + sign * change)[None, :4]))[0, -1] for sign in (1, -1)]
        columns.append((ends[0] - ends[1]) / 2e-2)
    assert gradient_reach(function, states)(4) == pytest.approx(np.linalg.norm(columns), rel=0.02)


@pytest.mark.integration
@pytest.mark.parametrize("family", ["gru", "gpt2"])
def test_truncated_back_propagation_stops(family):
    config, model, states = make(family)
    truncated, whole = truncated_texts(config, model, every=3), whole_texts(config, model)
    np.testing.assert_allclose(to_numpy(truncated(states[None])), to_numpy(whole(states[None])), atol=1e-5)
    reach, full = gradient_reach(truncated, states, any_length=False), gradient_reach(whole, states)
    assert reach(3) == pytest.approx(full(3), rel=1e-4)
    assert reach(4) == 0.0
    assert full(4) > 1e-4


@pytest.mark.integration
def test_it_has_the_weights_of_now():
    layer = Past(Recurrence("simple_rnn", D, activation="linear"))
    reach = gradient_reach(layer, normal(T, D))
    before = reach(5)
    layer.layer.weights[0].assign(2 * to_numpy(layer.layer.weights[0]))
    assert reach(5) == pytest.approx(2 * before, rel=1e-4)


def test_errors():
    layer = keras.layers.Dense(D)
    with pytest.raises(
        ValueError, match=r"states must belong to one text and have the shape \(T, D\): received the shape \(1, 8, 4\)"
    ):
        gradient_reach(layer, normal(1, T, D))
    for length in (0, 9, 2.5):
        with pytest.raises(ValueError, match="length must be an integer from 1 to 8"):
            gradient_reach(layer, normal(T, D))(length)
    with pytest.raises(ValueError, match="every must be a positive integer: received 0"):
        truncated_texts(*make("lstm")[:2], every=0)


@pytest.mark.slow
def test_plot():
    pytest.importorskip("matplotlib")
    figure = plot_gradient_reach({"RNN": {1: [1.0, 2.0], 4: [0.1, 0.3], 8: [0.0, 0.0]}, "CNN": {1: [1.0], 4: [0.5]}})
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["RNN", "CNN"]
    np.testing.assert_allclose(lines[0].get_xydata(), [[1, 1.5], [4, 0.2]])
