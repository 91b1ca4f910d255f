from __future__ import annotations

import numpy as np
import pytest
from arrays import normal, to_numpy, tolerance
from block_kinds import KINDS, split_positions
from invariants import check_padding
from layer_checks import check_layer, randomize_built
from pairs import pairwise

from keras_transformers.layers import ALiBi, EncoderBlock, RelativePositionBias, RotaryPositions, padding_mask

B, T, D, N, F = 2, 3, 8, 4, 12
BIASES = {"relative": RelativePositionBias(N), "alibi": ALiBi(N)}


def shared(kind: str | None, length: int = T, batch: int = B) -> dict:
    """What a block takes for this kind of positions, of the batch's size."""
    positions = np.repeat(np.arange(length)[None], batch, axis=0)
    if kind == "rotary":
        return {"rotary": tuple(to_numpy(RotaryPositions(D // N)(positions)))}
    layer = BIASES.get(kind)
    return {} if layer is None else {"position_bias": to_numpy(layer(positions, positions))}


CASES = pairwise(
    positions=[None, "rotary", "alibi"],
    num_kv_heads=[None, 2],
    dropout=[0.0, 0.5],
    attention_dropout=[0.5, 0.0],
    activation=["gelu", "relu"],
    gated=[False, True],
    norm=["layer", "rms"],
    norm_order=["post", "pre"],
    use_bias=[True, False],
    norm_bias=[None, True, False],
    intermediate_bias=[None, False],
    return_scores=[False, True],
)
CASES.append({"positions": None, "norm_order": "pre", "attention_norm": False})


@pytest.mark.integration
@pytest.mark.parametrize("options", [*CASES, *KINDS.values()], ids=[*map(str, range(len(CASES))), *KINDS])
def test_layer(options, tmp_path):
    positions, options = split_positions(options)
    mask = np.array([[[True, True, True]], [[True, True, False]]])
    arguments = {"hidden_states": normal(B, T, D), "attention_mask": mask, **shared(positions)}
    check_layer(EncoderBlock, {"num_heads": N, "intermediate_dim": F, **options}, arguments, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("family", KINDS)
def test_padding_changes_nothing(family, dtype):
    positions, options = split_positions(KINDS[family])
    block = EncoderBlock(N, F, **options, dtype=dtype)
    hidden_states = normal(3, 5, D)
    randomize_built(block, {"hidden_states": hidden_states})

    def run(hidden_states, mask):
        batch, length, _ = hidden_states.shape
        return block(hidden_states, attention_mask=padding_mask(mask), **shared(positions, length, batch))

    check_padding(run, hidden_states, np.array([5, 3, 1]), dtype)


def test_a_sequence_of_padding_is_finite():
    mask = np.zeros((B, 1, T), bool)
    block = randomize_built(EncoderBlock(N, F), {"hidden_states": normal(B, T, D)})
    assert np.isfinite(to_numpy(block(normal(B, T, D), attention_mask=mask))).all()


def test_without_the_norm_of_the_attention():
    """Sublayer by sublayer."""
    hidden_states = normal(B, T, D)
    block = EncoderBlock(N, F, norm_order="pre", attention_norm=False)
    randomize_built(block, {"hidden_states": hidden_states})
    added = hidden_states + to_numpy(block.attention(hidden_states))
    expected = added + to_numpy(block.feed_forward(block.feed_forward_norm(added)))
    np.testing.assert_allclose(to_numpy(block(hidden_states)), expected, **tolerance("float32"))
    assert not [weight.path for weight in block.weights if "attention_norm" in weight.path]


def test_dropout_acts_in_training_only():
    hidden_states = normal(B, T, D)
    block = randomize_built(EncoderBlock(N, F, dropout=0.5), {"hidden_states": hidden_states})
    expected = to_numpy(block(hidden_states))
    np.testing.assert_array_equal(to_numpy(block(hidden_states, training=False)), expected)
    first, second = (to_numpy(block(hidden_states, training=True)) for _ in range(2))
    assert np.abs(first - expected).max() > 1e-2
    assert np.abs(first - second).max() > 1e-2
