from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, to_numpy
from invariants import check_causal, check_padding
from layer_checks import check_layer, randomize_built

from keras_transformers.layers import ShortConvolution

B, T, D, L = 2, 6, 4, 3
POSITIONS = np.array([[0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 2, 3]], "int32")
MASK = np.array([[1] * 6, [1, 1, 1, 1, 0, 0]])


@pytest.mark.integration
@pytest.mark.parametrize("case", ["plain", "masked", "cached"])
def test_layer(case, tmp_path):
    arguments = {"hidden_states": normal(B, T, D)}
    arguments |= {"masked": {"positions": POSITIONS, "padding_mask": MASK}}.get(case, {})
    if case == "cached":
        arguments |= {"cache": {"state_inputs": normal(B, L - 1, D, seed=4)}, "cache_positions": POSITIONS + 1}
    check_layer(ShortConvolution, {"kernel_size": L, "use_bias": case != "plain"}, arguments, tmp_path)


def made(**options):
    return randomize_built(ShortConvolution(L, **options), {"hidden_states": normal(B, T, D)})


def test_padding_and_later_tokens_change_nothing():
    layer, x = made(use_bias=True), normal(B, T, D)
    check_padding(lambda states, mask: layer(states, padding_mask=mask), x, np.array([2, 5]))
    check_causal(layer, x)


def test_the_state_is_each_row_s_last_inputs():
    layer, x, lengths = made(), normal(B, T, D), np.array([1, 4])
    expected = to_numpy(layer(x))
    mask = np.arange(T) < lengths[:, None]
    _, cache = layer(np.where(mask[..., None], x, 5.0), padding_mask=mask, return_cache=True)
    new = np.stack([x[row, length : length + 2] for row, length in enumerate(lengths)])
    found, _ = layer(new, cache=cache, cache_positions=lengths[:, None] + np.arange(2))
    for row, length in enumerate(lengths):
        np.testing.assert_allclose(to_numpy(found)[row], expected[row, length : length + 2], atol=1e-6)


def test_errors():
    with pytest.raises(ValueError, match="kernel_size"):
        ShortConvolution(0)
    with pytest.raises(ValueError, match=r"a cache must be a dict of state_inputs \(2, 2, 4\)"):
        made()(normal(B, 1, D), cache={"key": normal(B, 1, 3, D)}, cache_positions=np.zeros((B, 1), "int32"))
    with pytest.raises(ValueError, match="a cache needs cache_positions"):
        made()(normal(B, 1, D), cache={"state_inputs": normal(B, 2, D)})
