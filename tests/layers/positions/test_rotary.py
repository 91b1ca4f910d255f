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


@pytest.mark.parametrize("options", [{}, {"max_wavelength": 500000.0, "scaling_factor": 8.0}])
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
    turned = rotate(queries, RotaryPositions(H, scaling_factor=factor)(POSITIONS))
    np.testing.assert_allclose(to_numpy(turned), expected.numpy(), atol=5e-5)


@pytest.mark.parametrize("shape", [(), (3,), (1, 0), (1, 2, 3)])
def test_positions_of_another_shape_are_refused(shape):
    for positions in (np.zeros(shape, "int32"), keras.KerasTensor(shape, "int32")):
        with pytest.raises(ValueError, match=r"positions must be \(1, length\) or \(batch, length\)"):
            RotaryPositions(8)(positions)
