"""The windows of Qwen's blocks in config.json, which say so in several ways."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.families import qwen2, qwen3

FULL, LOCAL = "full_attention", "sliding_attention"
QWEN3 = {
    "model_type": "qwen3", "vocab_size": 90, "num_hidden_layers": 4, "num_attention_heads": 4, "hidden_size": 32,
    "intermediate_size": 48, "max_position_embeddings": 512, "num_key_value_heads": 2, "sliding_window": 8,
}  # fmt: skip
WINDOW, WHOLE = {"attention_window": 8}, {}


def read(folder, **changes):
    (folder / "config.json").write_text(json.dumps(QWEN3 | changes))
    return read_config(folder)[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),  # use_sliding_window is false
        ({"use_sliding_window": True}, []),  # max_window_layers is 28
        ({"use_sliding_window": True, "max_window_layers": 0}, [WINDOW]),
        ({"use_sliding_window": True, "max_window_layers": 2}, [WHOLE, WHOLE, WINDOW, WINDOW]),
        ({"use_sliding_window": True, "layer_types": [FULL, LOCAL] * 2}, [WHOLE, WINDOW]),
        ({"use_sliding_window": True, "layer_types": [FULL, LOCAL] * 2, "sliding_window": None}, []),
        ({"layer_types": [FULL, LOCAL] * 2}, []),
        ({"layer_types": [FULL] * 4, "use_sliding_window": True}, []),
    ],
)
def test_windows_are_read(tmp_path, changes, expected):
    sizes = {"vocabulary_size": 90, "num_layers": 4, "num_heads": 4, "hidden_dim": 32, "intermediate_dim": 48}
    facts = {"num_kv_heads": 2, "head_dim": 128, "max_length": 512, "epsilon": 1e-6}
    assert read(tmp_path, **changes) == qwen3(**sizes, **facts, block_options=expected)


def test_missing_numbers_are_those_of_the_class(tmp_path):
    config = read(tmp_path, num_attention_heads=32, num_key_value_heads=None)
    assert (config.num_kv_heads, config.head_dim) == (32, 128)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer_types": [FULL] * 3}, "layer_types must hold .* for each of 4 layers"),
        ({"layer_types": [FULL] * 3 + ["chunked_attention"]}, "layer_types must hold"),
        ({"layer_types": 4}, "wrong type"),
        ({"max_window_layers": "2"}, "wrong type"),
        ({"use_sliding_window": True, "max_window_layers": 0, "sliding_window": -1}, "attention_window must be"),
        ({"num_hidden_layers": 0}, "num_layers must be a positive integer"),
        ({"num_hidden_layers": 10**9}, "num_layers must be at most"),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}, "rope_type='dynamic' is not supported"),
    ],
)
def test_what_is_refused_by_name(tmp_path, changes, message):
    with pytest.raises(ValueError, match=f"config.json.*{message}"):
        read(tmp_path, **changes)


@pytest.mark.parametrize(
    "blocks", [[{"attention_window": 4}, {"attention_window": 5}], [{"rotary": False}], [{"max_wavelength": 5.0}]]
)
def test_block_options_that_have_no_place_are_not_written(blocks):
    config = qwen2(90, 2, 4, 32, 48, block_options=blocks)
    with pytest.raises(ValueError, match="no place for block_options"):
        make_config(config, "Qwen2ForCausalLM")
