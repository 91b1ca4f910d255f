from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, to_numpy
from invariants import check_padding
from layer_checks import check_layer, randomize_built

from keras_transformers.layers import GatedDelta

B, T, D = 2, 6, 8
SIZES = {"num_heads": 4, "num_key_heads": 2, "key_dim": 3, "value_dim": 5, "kernel_size": 3}
POSITIONS = np.array([[0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 2, 3]], "int32")
MASK = np.array([[1] * 6, [1, 1, 1, 1, 0, 0]])


@pytest.mark.integration
@pytest.mark.parametrize("case", ["plain", "masked"])
def test_layer(case, tmp_path):
    arguments = {"hidden_states": normal(B, T, D)}
    arguments |= {"masked": {"positions": POSITIONS, "padding_mask": MASK}}.get(case, {})
    check_layer(GatedDelta, SIZES | {"use_bias": case != "plain"}, arguments, tmp_path)


def made(**options):
    return randomize_built(GatedDelta(**SIZES, **options), {"hidden_states": normal(B, T, D)})


@pytest.mark.integration
def test_padding_and_later_tokens_change_nothing():
    layer, x = made(), normal(B, T, D)
    check_padding(lambda states, mask: layer(states, padding_mask=mask), x, np.array([2, 5]))
    whole = to_numpy(layer(x))
    changed = np.concatenate([x[:, :4], x[:, 4:] + 3], axis=1)
    np.testing.assert_allclose(to_numpy(layer(changed))[:, :4], whole[:, :4], atol=1e-6)


@pytest.mark.parametrize("stride", [1, 2])
def test_steps_continue_each_row_where_it_ends(stride):
    layer, x, lengths = made(), normal(B, T, D), np.array([1, 4])
    expected, mask = to_numpy(layer(x)), np.arange(T) < lengths[:, None]
    _, cache = layer(np.where(mask[..., None], x, 5.0), padding_mask=mask, return_cache=True)
    for place in range(0, 2, stride):
        new = np.stack([x[row, length + place : length + place + stride] for row, length in enumerate(lengths)])
        places = lengths[:, None] + place + np.arange(stride)
        found, cache = layer(new, cache=cache, cache_positions=places)
        for row, length in enumerate(lengths):
            rows = slice(length + place, length + place + stride)
            np.testing.assert_allclose(to_numpy(found)[row], expected[row, rows], atol=1e-5)


@pytest.mark.integration
def test_a_text_does_not_see_the_one_before_it():
    layer, x = made(), normal(1, T, D)
    together, cache = layer(x, positions=POSITIONS[1:], return_cache=True)
    for begin, end in ((0, 2), (2, 6)):
        alone, last = layer(x[:, begin:end], return_cache=True)
        np.testing.assert_allclose(to_numpy(together)[:, begin:end], to_numpy(alone), atol=1e-5)
    for name, part in cache.items():
        np.testing.assert_allclose(to_numpy(part), to_numpy(last[name]), atol=1e-5)


def test_errors():
    with pytest.raises(ValueError, match="num_heads must be a multiple of num_key_heads: received 4, 3"):
        GatedDelta(num_heads=4, num_key_heads=3, key_dim=2, value_dim=2)
    with pytest.raises(ValueError, match=r"a cache must be a dict of state_inputs .*state_memory \(2, 4, 3, 5\)"):
        made()(normal(B, 1, D), cache={"state_inputs": normal(B, 2, 32)}, cache_positions=np.zeros((B, 1), "int32"))
