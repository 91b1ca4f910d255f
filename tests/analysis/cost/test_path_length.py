"""How far a signal goes, against what follows from kernels, windows and steps."""

from __future__ import annotations

import math

import keras
import numpy as np
import pytest
from keras import layers

from keras_transformers.analysis.cost.path_length import path_length
from keras_transformers.layers import Attention, window_mask

D = 4


def length_of(layer, length, dtype="float64", **options):
    return path_length(layer, keras.KerasTensor((1, length, D), dtype=dtype), **options)


@pytest.mark.integration(quick=["5-2", "5-9"])
@pytest.mark.parametrize("length", [1, 2, 9, 40])
@pytest.mark.parametrize("kernel", [2, 3, 5])
def test_convolutions(kernel, length):
    layer = layers.Conv1D(D, kernel, padding="causal", dtype="float64")
    assert length_of(layer, length) == max(1, math.ceil((length - 1) / (kernel - 1)))


@pytest.mark.integration(quick=["2", "1"])
@pytest.mark.parametrize("length", [1, 2, 8, 9, 10, 27, 28])
def test_dilated_convolutions(length):
    def layer(depth):
        return layers.Conv1D(D, 3, padding="causal", dilation_rate=3**depth, dtype="float64")

    expected = next(depth for depth in range(1, 10) if 3**depth >= length)
    assert length_of(layer, length) == expected


@pytest.mark.integration(quick=["1"])
@pytest.mark.parametrize("length", [1, 2, 30])
def test_attention_is_one_layer(length):
    assert length_of(Attention(2, dtype="float64"), length) == 1
    mask = np.tril(np.ones((1, length, length), bool))
    assert length_of(Attention(2, dtype="float64"), length, attention_mask=mask) == 1


@pytest.mark.parametrize(("length", "reach", "expected"), [(2, 1, 1), (9, 2, 4), (10, 2, 5), (10, 9, 1)])
def test_windows(length, reach, expected):
    positions = np.arange(length)[None]
    mask = keras.ops.convert_to_numpy(window_mask(positions, positions, reach))
    assert length_of(Attention(2, dtype="float64"), length, attention_mask=mask) == expected


@pytest.mark.integration(quick=["2-SimpleRNN"])
@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU"])
@pytest.mark.parametrize("length", [1, 2, 25])
def test_recurrent_layers(kind, length):
    assert length_of(getattr(layers, kind)(D, return_sequences=True, dtype="float64"), length) == length


@pytest.mark.integration
def test_both_directions_are_as_long():
    both = layers.Bidirectional(layers.LSTM(D // 2, return_sequences=True, dtype="float64"), dtype="float64")
    assert length_of(both, 9) == 9


@pytest.mark.integration
def test_what_never_arrives():
    assert length_of(layers.Dense(D, dtype="float64"), 2) is None
    future = np.triu(np.ones((1, 6, 6), bool))
    assert length_of(Attention(2, dtype="float64"), 6, attention_mask=future) is None
    assert length_of(lambda depth: layers.Dense(D, dtype="float64"), 3) is None
    assert length_of(layers.Dense(D), 1, dtype="float32") == 1


def test_the_weights_of_a_layer_take_no_part():
    layer = layers.Conv1D(D, 3, padding="causal", kernel_initializer="zeros", dtype="float64")
    layer(np.zeros((1, 5, D)))
    assert length_of(layer, 5) == 2
    assert not layer.get_weights()[0].any()


@pytest.mark.integration
def test_derivatives_that_vanish_are_refused():
    with pytest.raises(
        ValueError, match=r"too small or too large to decide.*float32.*dtype=\"float64\", or .* shorter"
    ):
        length_of(layers.GRU(D, return_sequences=True), 400, dtype="float32")


def test_layers_that_cannot_be_stacked():
    with pytest.raises(ValueError, match=r"received \(1, 3, 5\) from .* for \(1, 3, 4\).*return_sequences=True"):
        length_of(layers.Dense(5, dtype="float64"), 3)


@pytest.mark.parametrize(
    "inputs",
    [keras.KerasTensor((1, 3), "int32"), keras.KerasTensor((2, 3, 4)), {"x": keras.KerasTensor((1, 3, 4))}],
    ids=["ids", "batch", "dict"],
)
def test_inputs_that_are_no_row_of_vectors(inputs):
    with pytest.raises(ValueError, match=r"for one row of vectors.*Expected a keras.KerasTensor of float \(1, T, D\)"):
        path_length(layers.Dense(4), inputs)
