"""Frequencies of scaled rotary positions, beside those of `transformers`."""

import numpy as np
import pytest
from rope_kinds import LONG, ROPES, YARN

from keras_transformers.config.rotary_scaling import RotaryScaling, make_scaling
from keras_transformers.families.rotary_keys import read_scaling
from keras_transformers.layers.positions.frequencies import frequencies

RELEASED = {
    "Llama 3.2": (64, 500_000.0, 131_072, {
        "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }),
    "Qwen 2.5 with yarn": (128, 1e6, 131_072, {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768,
    }),
    "Ministral 3": (128, 1e6, 262_144, {
        "rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 16_384, "beta_fast": 32.0,
        "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
    }),
    "Gemma 3": (256, 1e6, 131_072, {"rope_type": "linear", "factor": 8.0}),
    "Phi 4 mini": (96, 1e4, 131_072, {
        "rope_type": "longrope", "original_max_position_embeddings": 4096, "short_factor": [1.0] * 48,
        "long_factor": np.geomspace(1, 60, 48).tolist(),
    }),
}  # fmt: skip
STEP = YARN | {"beta_fast": 0.5, "beta_slow": 0.5, "truncate": False}  # a ramp without a width
CASES = {name: (8, 50.0, 32, options) for name, options in (ROPES | {"yarn-step": STEP}).items()} | RELEASED


@pytest.mark.parity
@pytest.mark.parametrize("name", CASES)
def test_frequencies_and_factor_of_transformers(name):
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    width, base, longest, options = CASES[name]
    config = LlamaConfig(
        head_dim=width, max_position_embeddings=longest, rope_parameters={**options, "rope_theta": base}
    )
    scaling = make_scaling(read_scaling(options, longest))
    ours = frequencies(width, base, scaling)
    assert len(ours) == 1 + (options["rope_type"] == "longrope")
    for length, found in zip((1, longest), (ours[0], ours[-1]), strict=True):
        expected, factor = ROPE_INIT_FUNCTIONS[options["rope_type"]](config, seq_len=length)
        np.testing.assert_allclose(found, expected.numpy(), rtol=3e-7)
        assert scaling.multiplier == pytest.approx(factor)
        assert not np.allclose(found, frequencies(width, base)[0]) or (name, length) == ("Phi 4 mini", 1)


def test_no_scale():
    np.testing.assert_array_equal(frequencies(4, 100.0)[0], np.array([1, 0.1], "float32"))
    np.testing.assert_array_equal(frequencies(4, 100.0, RotaryScaling("linear", 4))[0] * 4, frequencies(4, 100.0)[0])


def test_two_arrays_where_texts_may_be_long():
    scaling = make_scaling(read_scaling(LONG, 32))
    short, long = frequencies(8, 50.0, scaling)
    np.testing.assert_allclose(short * LONG["short_factor"], long * LONG["long_factor"], rtol=1e-6)
