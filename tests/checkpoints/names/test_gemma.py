"""Gemma's config.json: windows, bases, scales and text parts in several forms, and what is refused by name."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.families import gemma2, gemma3

FULL, LOCAL = "full_attention", "sliding_attention"
SIZES = {
    "vocab_size": 90, "num_hidden_layers": 7, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 48,
    "max_position_embeddings": 512, "num_key_value_heads": 2, "head_dim": 8, "query_pre_attn_scalar": 8,
}  # fmt: skip
GEMMA2, GEMMA3 = SIZES | {"model_type": "gemma2"}, SIZES | {"model_type": "gemma3_text", "sliding_window": 16}
SCALED = {"rope_type": "linear", "factor": 8.0}
OURS = {"kind": "linear", "factor": 8.0}


def read(folder, values):
    (folder / "config.json").write_text(json.dumps(values))
    return read_config(folder)[0]


def expected(max_length=512, **options):
    own = {"num_kv_heads": 2, "head_dim": 8, "pad_id": 0, "bos_id": 2, "eos_ids": [1], "window": 16}
    return gemma3(90, 7, 4, 32, 48, max_length, **(own | options))


TYPES = [LOCAL, FULL, LOCAL, FULL, LOCAL, FULL, LOCAL]
WINDOW = {"attention_window": 16, "max_wavelength": 10_000.0}
FORMS = [
    ({}, {}),
    ({"layer_types": None, "sliding_window_pattern": None}, {}),
    ({"sliding_window_pattern": 2}, {"block_options": [WINDOW, {}]}),
    ({"_sliding_window_pattern": 2}, {"block_options": [WINDOW, {}]}),
    ({"_sliding_window_pattern": 3, "layer_types": TYPES}, {"block_options": [WINDOW, {}]}),
    ({"layer_types": [FULL] * 7, "sliding_window": None}, {"block_options": []}),
    ({"rope_scaling": SCALED, "rope_theta": 500.0}, {"scaling": OURS, "max_wavelength": 500.0}),
    ({"rope_scaling": {"type": "linear", "factor": 8.0}}, {"scaling": OURS}),
    ({"rope_parameters": {FULL: SCALED | {"rope_theta": 500.0}}}, {"scaling": OURS, "max_wavelength": 500.0}),
    (
        {"rope_parameters": {FULL: {"rope_theta": 5.0}}, "rope_scaling": SCALED},
        {"scaling": OURS, "max_wavelength": 5.0},
    ),
    (
        {"rope_parameters": {LOCAL: {"rope_theta": 50.0}}, "rope_local_base_freq": 9.0, "sliding_window_pattern": 2},
        {"block_options": [WINDOW | {"max_wavelength": 50.0}, {}]},
    ),
    ({"query_pre_attn_scalar": 10}, {"attention_scale": 10**-0.5}),
    ({"pad_token_id": None, "eos_token_id": [1, 6]}, {"pad_id": None, "eos_ids": [1, 6]}),
    ({"use_bidirectional_attention": True}, {"kind": "encoder"}),
]


@pytest.mark.parametrize(("changes", "options"), FORMS)
def test_forms_of_gemma_3(tmp_path, changes, options):
    config = read(tmp_path, GEMMA3 | changes)
    assert config == expected(**options)
    name = "Gemma3TextModel"
    assert read(tmp_path, make_config(config, name)) == config


def test_missing_keys_of_gemma_2_are_those_of_the_class(tmp_path):
    config = read(tmp_path, {key: value for key, value in GEMMA2.items() if key != "query_pre_attn_scalar"})
    caps = {"attention_soft_cap": 50.0, "logits_soft_cap": 30.0, "attention_scale": 256**-0.5}
    options = {"num_kv_heads": 2, "head_dim": 8, "pad_id": 0, "bos_id": 2, "eos_ids": [1]}
    assert config == gemma2(90, 7, 4, 32, 48, 512, **caps, **options)
    assert read(tmp_path, GEMMA2 | {"final_logit_softcapping": None}).logits_soft_cap is None


IMAGES = {"model_type": "gemma3", "vision_config": {"model_type": "siglip_vision_model"}, "image_token_index": 80}


def test_the_text_part_of_a_model_that_reads_images(tmp_path):
    """The released files leave out what is the default of the class, and have the ids of ends at the top."""
    text = {key: value for key, value in GEMMA3.items() if key != "max_position_embeddings"}
    values = IMAGES | {"eos_token_id": [1, 7], "text_config": text | {"rope_scaling": SCALED}}
    (tmp_path / "config.json").write_text(json.dumps(values | {"architectures": ["Gemma3ForConditionalGeneration"]}))
    with pytest.warns(UserWarning, match=r"reads images, too \(vision_config, image_token_index\): only its text part"):
        (tmp_path / "config.json").write_text(
            json.dumps(values | {"architectures": ["Gemma3ForConditionalGeneration"]})
        )
        config, extra = read_config(tmp_path)
    assert config == expected(eos_ids=[1, 7], scaling=OURS, max_length=131_072)
    assert extra["architecture"] == "Gemma3ForCausalLM"


REFUSED = [
    (GEMMA3 | {"layer_types": [FULL] * 6}, "layer_types must hold .* for each of 7 layers"),
    (GEMMA3 | {"layer_types": [FULL] * 6 + ["chunked_attention"]}, "layer_types must hold"),
    (GEMMA3 | {"sliding_window": None}, "sliding_window is null. Give the size"),
    (GEMMA3 | {"sliding_window_pattern": 0}, "sliding_window_pattern must be a positive integer"),
    (GEMMA3 | {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping=50.0 is not supported"),
    (GEMMA3 | {"rope_parameters": {"rope_theta": 5.0}}, "rope_parameters must hold 'full_attention'"),
    (GEMMA3 | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "rope_type='dynamic' is not supported"),
    (GEMMA3 | {"query_pre_attn_scalar": 0}, "query_pre_attn_scalar must be a positive number"),
    (GEMMA3 | {"num_hidden_layers": 0}, "num_layers must be a positive integer"),
    (GEMMA2 | {"use_bidirectional_attention": True}, "use_bidirectional_attention=True is not supported"),
    (IMAGES | {"text_config": 5}, "text_config must be an object"),
    (IMAGES, "has no text_config"),
    (GEMMA3 | {"model_type": "gemma3n"}, "family 'gemma3n' have an embedding of each token for each block"),
    (GEMMA3 | {"model_type": "gemma4_text"}, "family 'gemma4_text' have"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED)
def test_what_is_refused_by_name(tmp_path, values, message):
    with pytest.raises(ValueError, match=f"config.json.*{message}"):
        read(tmp_path, values)


@pytest.mark.parametrize("scale", [0.3, 10.0, 0.0, -0.5])
def test_a_factor_that_is_no_root_is_not_written(scale):
    with pytest.raises(ValueError, match=r"no place for attention_scale=.*expected n \*\* -0.5"):
        make_config(expected(attention_scale=scale), "Gemma3TextModel")


@pytest.mark.parametrize(
    "blocks",
    [
        [WINDOW, WINDOW | {"attention_window": 5}],
        [WINDOW, {"max_wavelength": 50.0}],
        [WINDOW, {"rotary": False}],
        [{"rotary_scaling": OURS}, {}],
    ],
)
def test_block_options_that_have_no_place_are_not_written(blocks):
    with pytest.raises(ValueError, match=r"gemma3_text format .* no place for block_options"):
        make_config(expected(block_options=blocks), "Gemma3TextModel")
    with pytest.raises(ValueError, match=r"gemma2 format .* no place for block_options"):
        make_config(gemma2(90, 7, 4, 32, 48, block_options=blocks), "Gemma2Model")
