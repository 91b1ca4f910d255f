from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, to_numpy
from layer_checks import check_layer, randomize_built

from keras_transformers.layers import StateDecoderBlock

B, T, D, U = 2, 5, 8, 12
POSITIONS = np.array([[0, 1, 2, 3, 4], [0, 1, 0, 1, 2]], "int32")
MASK = np.array([[1] * 5, [1, 1, 1, 1, 0]])
CASES = {
    "plain": {"dropout": 0.1, "activation_dropout": 0.1, "seed": 1},
    "lfm2": {"norm": "rms", "use_bias": False, "gated": True, "activation": "silu", "kernel_size": 4},
    "sandwich": {"norm_order": "sandwich", "residual_scale": 0.5, "mixer_bias": True, "kernel_initializer": "ones"},
}


@pytest.mark.integration
@pytest.mark.parametrize("name", CASES)
def test_layer(name, tmp_path):
    arguments = {"hidden_states": normal(B, T, D), "positions": POSITIONS, "padding_mask": MASK}
    options = {"mixer": "short_convolution", "intermediate_dim": U, **CASES[name]}
    check_layer(StateDecoderBlock, options, arguments, tmp_path)


def test_a_block_with_a_cache_continues():
    block = StateDecoderBlock("short_convolution", U, norm_order="post")
    x = normal(B, T, D)
    randomize_built(block, {"hidden_states": x})
    _, cache = block(x[:, :3], return_cache=True)
    found, _ = block(x[:, 3:], cache=cache, cache_positions=POSITIONS[:1, 3:].repeat(B, 0))
    np.testing.assert_allclose(to_numpy(found), to_numpy(block(x))[:, 3:], atol=1e-5)


def test_errors():
    with pytest.raises(ValueError, match=r"mixer must be one of .*short_convolution.*: received 'lstm'"):
        StateDecoderBlock("lstm", U)
    with pytest.raises(ValueError, match="num_heads"):
        StateDecoderBlock("short_convolution", U, num_heads=2)
