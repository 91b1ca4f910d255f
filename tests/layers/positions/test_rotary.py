from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from layer_checks import check_layer

from keras_transformers.layers import RotaryPositions
from keras_transformers.layers.positions.rotary import rotate

B, N, T, H = 2, 3, 5, 8
POSITIONS = np.array([[0, 1, 2, 3, 4], [7, 3, 9, 500, 2]])


LONG = {"kind": "longrope", "factor": 4, "original_length": 20, "short_factors": [1] * 4, "long_factors": [2, 3, 4, 5]}
YARN = {"kind": "yarn", "factor": 4, "original_length": 20}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_wavelength": 500000.0, "scaling": {"kind": "linear", "factor": 8.0}},
        *({"scaling": scale} for scale in (LONG, YARN)),
    ],
)
def test_layer(options, tmp_path):
    check_layer(RotaryPositions, {"head_dim": H, **options}, {"positions": POSITIONS}, tmp_path)


def test_products_depend_on_the_distance_only():
    query, key = normal(1, 1, 1, H), normal(1, 1, 1, H, seed=1)

    def product(query_position, key_position):
        turned = [
            to_numpy(rotate(x, RotaryPositions(H)(np.array([[position]]))))
            for x, position in ((query, query_position), (key, key_position))
        ]
        return (turned[0] * turned[1]).sum()

    assert product(7, 4) == pytest.approx(product(103, 100), abs=1e-4)
    assert abs(product(7, 4) - product(7, 5)) > 1e-3


def test_a_scale_by_the_length_of_a_text():
    layer, short, long = RotaryPositions(H, scaling=LONG), RotaryPositions(H), np.array([[True], [False]])
    factor = layer.scaling.multiplier
    turns = POSITIONS[..., None] / np.where(long[..., None], [2, 3, 4, 5], [1] * 4)
    expected = np.cos(turns * 10000.0 ** (-np.arange(0, H, 2) / H)) * factor
    for lengths in (np.where(long, 21, 20), np.tile(np.where(long, 21, 20), (1, T))):
        np.testing.assert_allclose(to_numpy(layer(POSITIONS, lengths=lengths)[0]), expected, atol=3e-5)
    found = to_numpy(layer(POSITIONS[:1]))[0]  # 5 tokens, by their positions
    np.testing.assert_allclose(found, to_numpy(short(POSITIONS[:1]))[0] * factor, atol=1e-6)
    last = to_numpy(layer(np.array([[20]])))[0]  # the 21st
    np.testing.assert_allclose(last, to_numpy(layer(np.array([[20]]), lengths=np.array([[21]])))[0])


def test_files_of_an_older_version_have_a_factor():
    config = RotaryPositions(H, name="positions").get_config() | {"scaling_factor": 8.0}
    del config["scaling"]
    layer = RotaryPositions.from_config(config)
    assert (layer.scaling.kind, layer.scaling.factor) == ("linear", 8.0)
    assert RotaryPositions.from_config(config | {"scaling_factor": 1.0}).scaling is None


def test_only_the_first_units_of_a_head_are_turned():
    x, rotary = normal(B, N, T, H), RotaryPositions(H // 2)(POSITIONS)
    turned = to_numpy(rotate(x, rotary))
    np.testing.assert_array_equal(turned[..., H // 2 :], x[..., H // 2 :])
    np.testing.assert_allclose(turned[..., : H // 2], to_numpy(rotate(x[..., : H // 2], rotary)))


@pytest.mark.parity
def test_parity_with_gpt_neox():
    import torch
    from transformers.models.gpt_neox.modeling_gpt_neox import (
        GPTNeoXConfig,
        GPTNeoXRotaryEmbedding,
        apply_rotary_pos_emb,
    )

    queries = normal(B, N, T, 2 * H)
    config = GPTNeoXConfig(hidden_size=N * 2 * H, num_attention_heads=N, rotary_pct=0.25)
    cosines, sines = GPTNeoXRotaryEmbedding(config)(torch.tensor(queries), torch.tensor(POSITIONS))
    expected, _ = apply_rotary_pos_emb(torch.tensor(queries), torch.tensor(queries), cosines, sines)
    turned = rotate(queries, RotaryPositions(H // 2)(POSITIONS))
    np.testing.assert_allclose(to_numpy(turned), expected.numpy(), atol=5e-5)


def test_an_odd_head_is_refused():
    with pytest.raises(ValueError, match="must be even, received 7"):
        RotaryPositions(7)


@pytest.mark.parity
@pytest.mark.parametrize("factor", [1.0, 8.0])
def test_parity_with_llama(factor):
    import torch
    from transformers.models.llama.modeling_llama import LlamaConfig, LlamaRotaryEmbedding, apply_rotary_pos_emb

    queries = normal(B, N, T, H)
    config = LlamaConfig(hidden_size=N * H, num_attention_heads=N, head_dim=H)
    config.rope_parameters = {"rope_type": "linear", "factor": factor, "rope_theta": 10000.0}
    cosines, sines = LlamaRotaryEmbedding(config)(torch.tensor(queries), torch.tensor(POSITIONS))
    expected, _ = apply_rotary_pos_emb(torch.tensor(queries), torch.tensor(queries), cosines, sines)
    turned = rotate(queries, RotaryPositions(H, scaling={"kind": "linear", "factor": factor})(POSITIONS))
    np.testing.assert_allclose(to_numpy(turned), expected.numpy(), atol=5e-5)


@pytest.mark.parametrize("shape", [(), (3,), (1, 0), (1, 2, 3)])
def test_positions_of_another_shape_are_refused(shape):
    for positions in (np.zeros(shape, "int32"), keras.KerasTensor(shape, "int32")):
        with pytest.raises(ValueError, match=r"positions must be \(1, length\) or \(batch, length\)"):
            RotaryPositions(8)(positions)
