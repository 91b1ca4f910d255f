from __future__ import annotations

import keras
import pytest

from keras_transformers.analysis.cost.path_length import path_length
from keras_transformers.analysis.signals.signal_paths import KINDS, signal_path
from keras_transformers.layers import EncoderBlock

LAYERS = {
    "recurrent": lambda: keras.layers.SimpleRNN(4, return_sequences=True),
    "convolutional": lambda: keras.layers.Conv1D(4, kernel_size=3, padding="causal"),
    "attention": lambda: EncoderBlock(num_heads=1, intermediate_dim=4),
}


@pytest.mark.integration(quick=["6-convolutional", "9-convolutional", "2-convolutional"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [2, 6, 9])
def test_it_is_as_long_as_that_of_keras_layers(kind, length):
    assert signal_path(kind, length).steps == path_length(LAYERS[kind](), keras.KerasTensor((1, length, 4)))


def test_convolutions_that_see_both_sides_are_as_long_as_those_of_keras():
    layer = keras.layers.Conv1D(4, kernel_size=5, padding="same")
    path = signal_path("convolutional", 9, kernel=5, is_causal=False)
    assert path.steps == path_length(layer, keras.KerasTensor((1, 9, 4))) == 4


@pytest.mark.parametrize("kind", ["attention", "convolutional"])
def test_layers_that_are_not_causal_see_both_sides(kind):
    edges = {source[1] - target[1] for source, target in signal_path(kind, 6, is_causal=False).edges}
    assert edges == {-offset for offset in edges} and max(edges) == (5 if kind == "attention" else 1)
    assert all(source[1] <= target[1] for source, target in signal_path(kind, 6).edges)


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [2, 7, 12])
def test_it_goes_from_the_first_input_to_the_last_output_along_connections(kind, length, is_causal):
    path = signal_path(kind, length, is_causal=is_causal)

    assert (path.places[0], path.places[-1]) == ((0, 0), (path.layers, length - 1))
    assert all(step in path.edges for step in zip(path.places[:-1], path.places[1:], strict=True))
    assert len(set(path.edges)) == len(path.edges)
    assert all(0 <= place[1] < length and place[0] <= path.layers for edge in path.edges for place in edge)


def test_wider_kernels_take_fewer_layers():
    assert [signal_path("convolutional", 9, kernel).layers for kernel in (2, 3, 5, 9)] == [8, 4, 2, 1]


@pytest.mark.parametrize(
    ("kind", "length", "kernel"), [("pooling", 4, 3), ("attention", 1, 3), ("convolutional", 4, 1)]
)
def test_what_has_no_path_is_refused(kind, length, kernel):
    with pytest.raises(ValueError, match="expected one of"):
        signal_path(kind, length, kernel)
    with pytest.raises(ValueError, match="an odd kernel"):
        signal_path("convolutional", 4, 2, is_causal=False)
