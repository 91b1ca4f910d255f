from __future__ import annotations

import math

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from layer_checks import check_layer, randomize_built

from keras_transformers.layers import LearnedPositions, PositionIds, SinusoidalPositions

B, T, D = 2, 3, 8
POSITIONS = np.array([[0, 1, 2], [4, 5, 1]])

LAYERS = [
    (PositionIds, {}),
    (LearnedPositions, {"max_length": T}),
    (LearnedPositions, {"max_length": 6, "initializer_range": None}),
    (SinusoidalPositions, {}),
    (SinusoidalPositions, {"layout": "halves", "max_wavelength": 100.0}),
    (SinusoidalPositions, {"layout": "fairseq"}),
    (SinusoidalPositions, {"layout": "opennmt"}),
]


def test_learned_positions_of_any_length_in_a_layer_of_a_users_own():
    """Keras infers its shape on JAX with lengths that are no numbers."""

    class Own(keras.layers.Layer):
        def build(self, shape):
            self.positions = LearnedPositions(9)
            self.positions.build(shape)

        def call(self, x):
            return self.positions(x)

    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, Own()(inputs))
    assert model.predict(np.zeros((2, 3, 4)), verbose=0).shape == (2, 3, 4)


@pytest.mark.integration(
    quick=[
        "LearnedPositions-options2",
        "PositionIds-options0",
        "SinusoidalPositions-options3",
        "SinusoidalPositions-options4",
        "SinusoidalPositions-options5",
        "SinusoidalPositions-options6",
    ]
)
@pytest.mark.parametrize(("layer_class", "options"), LAYERS)
def test_layer(layer_class, options, tmp_path):
    name = "inputs" if layer_class is PositionIds else "hidden_states"
    check_layer(layer_class, options, {name: normal(B, T, D)}, tmp_path)


@pytest.mark.integration(quick=["SinusoidalPositions-options1"])
@pytest.mark.parametrize(("layer_class", "options"), [(LearnedPositions, {"max_length": 6}), (SinusoidalPositions, {})])
def test_given_positions_pick_the_same_vectors(layer_class, options, tmp_path):
    layer = layer_class(**options)
    hidden_states = np.zeros((B, 6, D), "float32")
    table = to_numpy(randomize_built(layer, {"hidden_states": hidden_states})(hidden_states))[0]
    arguments = {"hidden_states": hidden_states[:, :T], "positions": POSITIONS}
    np.testing.assert_array_equal(to_numpy(layer(**arguments)), table[POSITIONS])
    check_layer(layer_class, options, arguments, tmp_path)


def test_position_ids_count_along_the_axis():
    np.testing.assert_array_equal(to_numpy(PositionIds()(normal(B, T, D))), [[0, 1, 2]])
    np.testing.assert_array_equal(to_numpy(PositionIds(axis=2)(normal(B, 1, 2))), [[0, 1]])


def test_sinusoidal_positions_are_the_papers():
    """PE(pos, 2i) = sin(pos / 10000^(2i / d)) and PE(pos, 2i + 1) the cosine, section 3.5."""
    table = to_numpy(SinusoidalPositions()(np.zeros((1, 600, D), "float32")))[0]
    for position in (0, 1, 17, 599):
        for unit in range(0, D, 2):
            angle = position / 10000 ** (unit / D)
            np.testing.assert_allclose(table[position, unit : unit + 2], [math.sin(angle), math.cos(angle)], atol=5e-5)


def test_halves_hold_the_same_numbers():
    zeros = np.zeros((1, 5, D), "float32")
    interleaved, halves = to_numpy((SinusoidalPositions()(zeros), SinusoidalPositions("halves")(zeros)))
    np.testing.assert_array_equal(interleaved[..., 0::2], halves[..., : D // 2])
    np.testing.assert_array_equal(interleaved[..., 1::2], halves[..., D // 2 :])


@pytest.mark.parametrize(("layout", "first"), [("fairseq", 2), ("opennmt", 1)])
def test_layouts_that_end_at_the_longest_wavelength(layout, first):
    """Halves; the last frequency is exactly 1 / 10000; the first position is behind fairseq's id of padding, or 1."""
    table = to_numpy(SinusoidalPositions(layout)(np.zeros((1, 600, D), "float32")))[0]
    frequencies = 10000.0 ** (-np.arange(4) / 3)
    angles = np.arange(first, first + 600)[:, None] * frequencies
    np.testing.assert_allclose(table, np.concatenate([np.sin(angles), np.cos(angles)], axis=1), atol=5e-5)


def test_errors_name_the_remedy():
    with pytest.raises(ValueError, match=r"4 tokens and the position table 3 rows.*cut the text"):
        LearnedPositions(max_length=3)(normal(B, 4, D))
    with pytest.raises(ValueError, match="layout must be one of"):
        SinusoidalPositions(layout="mixed")
    with pytest.raises(ValueError, match="even width: received 7"):
        SinusoidalPositions()(normal(B, T, 7))


@pytest.mark.parity
def test_parity_with_marians_table():
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    theirs = MarianSinusoidalPositionalEmbedding(512, 64)
    theirs.weight.data = theirs.create_weight()
    ours = to_numpy(SinusoidalPositions("halves")(np.zeros((1, 512, 64), "float32")))[0]
    np.testing.assert_allclose(ours, theirs.weight.detach().numpy(), atol=5e-5)


@pytest.mark.parity
def test_parity_with_fairseqs_table():
    from transformers.models.fsmt.modeling_fsmt import SinusoidalPositionalEmbedding

    theirs = SinusoidalPositionalEmbedding.get_embedding(514, 64, padding_idx=1).numpy()[2:]
    ours = to_numpy(SinusoidalPositions("fairseq")(np.zeros((1, 512, 64), "float32")))[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-4)  # theirs computes frequencies in float32
