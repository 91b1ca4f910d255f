from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from layer_checks import check_layer, functional, randomize_built

from keras_transformers.layers import MixerDecoderBlock

B, T, S, D, U = 2, 3, 4, 8, 6
POSITIONS = np.arange(T)[None].repeat(B, 0)
MASK = np.array([[[True] * S], [[True, True, False, False]]])
CASES = [
    {"mixer": "simple_rnn"},
    {"mixer": "lstm", "encoder": "state"},
    {"mixer": "gru", "encoder": "attention", "num_heads": 2, "return_scores": True, "norm_order": "post"},
    {"mixer": "convolution", "encoder": "attention", "num_heads": 2, "num_kv_heads": 1, "attention_dropout": 0.5},
]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))


def arguments(case):
    inputs = {"hidden_states": normal(B, T, D), "positions": POSITIONS}
    if "encoder" in case:
        inputs |= {"context": normal(B, S, D, seed=1), "encoder_attention_mask": MASK}
    return inputs


@pytest.mark.integration
@each_case
def test_layer(case, tmp_path):
    check_layer(MixerDecoderBlock, {"intermediate_dim": U} | case, arguments(case), tmp_path)


@pytest.mark.integration
@each_case
def test_layer_with_a_cache(case, tmp_path):
    options, inputs = {"intermediate_dim": U} | case, arguments(case)
    cache = to_numpy(MixerDecoderBlock(**options)(**inputs, return_cache=True)[1])
    cache = {name: np.tile(part, (1, 1, 1 if "cross" in name else 3, 1)) for name, part in cache.items()}
    inputs |= {"cache": cache, "cache_positions": 1 + POSITIONS, "positions": 1 + POSITIONS}
    inputs.pop("context", None)
    if case.get("encoder") != "attention":
        inputs.pop("encoder_attention_mask", None)
    # Built with its encoder: a block of a model is built so, and called with a cache later.
    block = randomize_built(MixerDecoderBlock(**options), arguments(case))
    outputs, symbolic = block(**inputs), functional(block, inputs)
    keras.tree.map_structure(
        lambda ours, other: np.testing.assert_allclose(to_numpy(ours), to_numpy(other), atol=1e-6),
        symbolic(inputs), outputs,
    )  # fmt: skip
    shapes = keras.tree.map_structure(lambda tensor: tuple(tensor.shape)[1:], outputs[1])
    assert {name: part.shape[1:] for name, part in cache.items()} == shapes


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES[1:3], ids=["state", "attention"])
def test_beams_share_what_comes_from_the_encoder(case):
    block = randomize_built(MixerDecoderBlock(intermediate_dim=U, **case), arguments(case))
    _, cache, *_ = block(**arguments(case), return_cache=True)
    cache = to_numpy(cache)
    own = {name: part.repeat(2, axis=0) for name, part in cache.items() if not name.startswith("cross")}
    shared = {name: part for name, part in cache.items() if name.startswith("cross")}
    queries, x = np.array([[0]] * 4), normal(4, 1, D, seed=8)
    given = {"positions": queries, "cache_positions": queries}
    together = block(x, cache=own | shared, encoder_attention_mask=MASK, **given)[0]
    apart = {name: part.repeat(2, axis=0) for name, part in shared.items()}
    alone = block(x, cache=own | apart, encoder_attention_mask=MASK.repeat(2, axis=0), **given)[0]
    np.testing.assert_allclose(to_numpy(together), to_numpy(alone), atol=1e-6)


def test_errors():
    with pytest.raises(ValueError, match=r"encoder must be 'attention', 'state'.*received 'state' with mixer='conv"):
        MixerDecoderBlock("convolution", U, encoder="state")
    with pytest.raises(ValueError, match="a block with encoder='attention' takes a context"):
        MixerDecoderBlock("gru", U, encoder="attention")(normal(B, T, D), positions=POSITIONS)
    with pytest.raises(ValueError, match="a block with encoder=None takes no context: received one"):
        MixerDecoderBlock("gru", U)(normal(B, T, D), normal(B, S, D), positions=POSITIONS)
