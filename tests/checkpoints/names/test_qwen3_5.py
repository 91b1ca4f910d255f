"""Qwen 3.5's config.json: types of blocks, the text part of models that read images, what is refused."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.huggingface_config import read_config

TEXT = {
    "model_type": "qwen3_5_text", "vocab_size": 90, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 8,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25},
}  # fmt: skip
IMAGES = {"model_type": "qwen3_5", "vision_config": {"depth": 2}, "image_token_id": 80}


def read(folder, values):
    (folder / "config.json").write_text(json.dumps({"architectures": ["Qwen3_5ForCausalLM"]} | values))
    return read_config(folder)[0]


def mixers(config):
    return [config.block(index).mixer for index in range(config.num_layers)]


def test_each_fourth_block_attends(tmp_path):
    delta = "gated_delta"
    assert mixers(read(tmp_path, TEXT)) == [delta, delta, delta, "attention"] * 2
    assert mixers(read(tmp_path, TEXT | {"full_attention_interval": 2})) == [delta, "attention"] * 4
    types = ["full_attention"] * 7 + ["linear_attention"]
    assert mixers(read(tmp_path, TEXT | {"layer_types": types})) == ["attention"] * 7 + [delta]


def test_the_text_part_of_a_model_that_reads_images(tmp_path):
    grids = TEXT["rope_parameters"] | {"mrope_section": [2, 1, 1], "mrope_interleaved": True}
    values = IMAGES | {"text_config": TEXT | {"rope_parameters": grids}, "eos_token_id": [7, 8]}
    with pytest.warns(UserWarning, match=r"reads images, too \(vision_config, image_token_id\): only its text part"):
        config = read(tmp_path, values)
    assert config == read(tmp_path, TEXT | {"eos_token_id": [7, 8]})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (TEXT | {"layer_types": ["full_attention"] * 7}, "layer_types must hold .* for each of 8 layers"),
        (TEXT | {"layer_types": ["sliding_attention"] * 8}, "layer_types must hold"),
        (TEXT | {"full_attention_interval": -1}, "full_attention_interval must be a positive integer"),
        (IMAGES | {"text_config": 5}, "text_config must be an object"),
    ],
)
def test_what_is_refused(tmp_path, values, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, values)
