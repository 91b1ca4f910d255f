from __future__ import annotations

import numpy as np
import pytest
from arrays import normal
from layer_checks import check_layer

from keras_transformers.layers import MixerEncoderBlock
from keras_transformers.layers.mixers.by_name import make_mixer

MASK = np.array([[[True] * 5], [[True, True, True, False, False]]])
CASES = [
    {"mixer": "lstm"},
    {"mixer": "gru", "bidirectional": False, "norm": "rms", "norm_order": "post", "dropout": 0.5},
    {"mixer": "convolution", "kernel_size": 5, "gated": True, "use_bias": False},
]


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["mixer"])
def test_layer(case, tmp_path):
    inputs = {"hidden_states": normal(2, 5, 8), "attention_mask": MASK}
    check_layer(MixerEncoderBlock, {"intermediate_dim": 6} | case, inputs, tmp_path)


def test_an_unknown_mixer():
    with pytest.raises(ValueError, match=r"mixer must be one of \('simple_rnn'.*received 'attention'"):
        make_mixer("attention", 8, {}, kernel_size=3, gated=False)
