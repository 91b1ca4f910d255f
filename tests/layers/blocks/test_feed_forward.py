from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, to_numpy
from layer_checks import check_layer, randomize_built
from pairs import pairwise

from keras_transformers.layers import FeedForward

B, T, D, F = 2, 3, 4, 6

CASES = pairwise(
    activation=["relu", "gelu", "gelu_tanh", "silu"],
    gated=[False, True],
    use_bias=[True, False],
    intermediate_bias=[None, True, False],
    initializer_range=[0.02, None, "fan_in"],
)


@pytest.mark.integration
@pytest.mark.parametrize("options", CASES, ids=lambda options: options["activation"])
def test_layer(options, tmp_path):
    check_layer(FeedForward, {"intermediate_dim": F, **options}, {"hidden_states": normal(B, T, D)}, tmp_path)


def test_dropout_between_the_layers():
    layer = randomize_built(FeedForward(F, dropout=0.5), {"hidden_states": normal(B, T, D)})
    hidden_states = normal(B, T, D)
    assert np.abs(to_numpy(layer(hidden_states, training=True)) - to_numpy(layer(hidden_states))).max() > 0.1
    np.testing.assert_array_equal(to_numpy(layer(hidden_states, training=False)), to_numpy(layer(hidden_states)))


def test_positions_do_not_mix():
    hidden_states = normal(B, T, D)
    layer = randomize_built(FeedForward(F), {"hidden_states": hidden_states})
    alone = to_numpy(layer(hidden_states[:, 1:2]))
    np.testing.assert_allclose(to_numpy(layer(hidden_states))[:, 1:2], alone, atol=1e-6)


@pytest.mark.parity
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_parity_with_torch(activation, gated):
    import torch

    hidden_states = normal(B, T, D)
    layer = randomize_built(FeedForward(F, activation, gated), {"hidden_states": hidden_states})

    def dense(sublayer, x):
        kernel, bias = (torch.tensor(to_numpy(weight)) for weight in sublayer.weights)
        return torch.nn.functional.linear(x, kernel.T, bias)

    functions = vars(torch.nn.functional) | {"gelu_tanh": torch.nn.GELU("tanh")}
    x = torch.tensor(hidden_states)
    inner = dense(layer.intermediate, x)
    inner = functions[activation](dense(layer.gate, x)) * inner if gated else functions[activation](inner)
    expected = dense(layer.output_dense, inner).numpy()
    np.testing.assert_allclose(to_numpy(layer(hidden_states)), expected, atol=1e-5)
