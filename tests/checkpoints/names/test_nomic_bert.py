"""NomicBERT's config.json, with the keys of the released files and of `transformers`."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.families import nomic_bert

RELEASED = {
    "activation_function": "swiglu", "architectures": ["NomicBertModel"], "attn_pdrop": 0.0, "bos_token_id": None,
    "causal": False, "embd_pdrop": 0.0, "layer_norm_epsilon": 1e-6, "max_trained_positions": 64,
    "mlp_fc1_bias": False, "mlp_fc2_bias": False, "model_type": "nomic_bert", "n_embd": 16, "n_head": 2, "n_inner": 24,
    "n_layer": 2, "n_positions": 256, "parallel_block": False, "prenorm": False, "qkv_proj_bias": False,
    "resid_pdrop": 0.25, "rotary_emb_base": 500, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "type_vocab_size": 2, "use_rms_norm": None,
    "vocab_size": 40,
}  # fmt: skip
SAME = nomic_bert(40, 2, 2, 16, 24, 64, epsilon=1e-6, dropout=0.25, max_wavelength=500.0)


def read(folder, **changes):
    (folder / "config.json").write_text(json.dumps(RELEASED | changes))
    return read_config(folder)[0]


def test_released_keys(tmp_path):
    assert read(tmp_path) == SAME
    lengths = [read(tmp_path, max_trained_positions=None, n_positions=size).max_length for size in (256, 8192)]
    assert lengths == [256, 2048]  # what the released models were trained with
    assert read(tmp_path, rotary_scaling_factor=2.0) == SAME  # of longer texts alone
    assert read(tmp_path, activation_function="geglu").activation == "gelu"


def test_keys_of_transformers(tmp_path):
    values = make_config(SAME, "NomicBertModel")
    assert not values.keys() & {"n_embd", "n_positions", "rotary_emb_base", "activation_function"}
    (tmp_path / "config.json").write_text(json.dumps(values))
    assert read_config(tmp_path)[0] == SAME
    del values["rope_parameters"], values["rope_theta"]
    (tmp_path / "config.json").write_text(json.dumps(values))
    assert read_config(tmp_path)[0].max_wavelength == 1000.0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("prenorm", True), ("qkv_proj_bias", True), ("mlp_fc1_bias", True), ("rotary_emb_fraction", 0.5),
        ("rotary_emb_interleaved", True), ("use_rms_norm", True),
        ("activation_function", "gelu"), ("causal", True), ("parallel_block", True),
    ],
)  # fmt: skip
def test_what_is_not_computed_is_refused_by_its_key(tmp_path, key, value):
    with pytest.raises(ValueError, match=f"{key}=.*is not supported"):
        read(tmp_path, **{key: value})
