"""ModernBERT's windows and bases of rotary positions in config.json, in the form of each version of `transformers`."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.families import modernbert
from keras_transformers.families.encoders.modernbert import windowed

SIZES = {
    "model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"], "vocab_size": 90, "num_hidden_layers": 5,
    "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 24, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
FULL, LOCAL = "full_attention", "sliding_attention"
OLD = {
    "global_attn_every_n_layers": 2, "global_rope_theta": 80000.0, "local_rope_theta": 500.0, "local_attention": 10,
}  # fmt: skip
NEW = {
    "layer_types": [FULL, LOCAL, FULL, LOCAL, FULL], "local_attention": 10,
    "rope_parameters": {FULL: {"rope_theta": 80000.0, "rope_type": "default"}, LOCAL: {"rope_theta": 500.0}},
}  # fmt: skip
UNEVEN = {"layer_types": [LOCAL, LOCAL, FULL, LOCAL, FULL], "local_attention": 10}
FILES = {
    "neither": {},
    "old": OLD,
    "new": NEW,
    "both, the new ones first": {**OLD, "global_rope_theta": 1.0, "local_rope_theta": 2.0, **NEW},
    "new windows, old bases": {"layer_types": NEW["layer_types"], **OLD, "global_attn_every_n_layers": 4},
    "uneven": UNEVEN,
    "all see all": {"layer_types": [FULL] * 5},
    "all see windows": {"layer_types": [LOCAL] * 5},
}


def read(folder, **values):
    (folder / "config.json").write_text(json.dumps(SIZES | values))
    return read_config(folder)[0]


def test_old_and_new_keys_are_one_model(tmp_path):
    config = read(tmp_path, **OLD)
    assert config == read(tmp_path, **NEW) == read(tmp_path, **FILES["both, the new ones first"])
    blocks = [config.block(index) for index in range(5)]
    assert [block.attention_window for block in blocks] == [None, 10, None, 10, None]
    assert [block.max_wavelength for block in blocks] == [80000.0, 500.0, 80000.0, 500.0, 80000.0]
    assert [block.attention_norm for block in blocks] == [False, True, True, True, True]


def test_a_missing_local_base_is_the_global_one(tmp_path):
    """So it was before version 5 of `transformers`."""
    config = read(tmp_path, global_rope_theta=700.0, local_rope_theta=None)
    assert {config.block(index).max_wavelength for index in range(5)} == {700.0}


def test_null_is_a_missing_key(tmp_path):
    nulls = dict.fromkeys(("classifier_pooling", "local_attention", "global_rope_theta", "norm_bias", "layer_types"))
    assert read(tmp_path, **nulls) == read(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_what_is_written_is_read(tmp_path, name):
    config = read(tmp_path, **FILES[name])
    values = make_config(config, "ModernBertForMaskedLM")
    old = {key: values[key] for key in OLD if key in values}
    assert read(tmp_path, **values) == config
    assert ("global_attn_every_n_layers" in old) == (name not in ("uneven", "all see windows"))
    if len(old) == len(OLD):
        assert read(tmp_path, classifier_pooling="mean", **old) == config.replace(classifier_pooling="mean")


@pytest.mark.parity
@pytest.mark.parametrize("name", FILES)
def test_transformers_reads_the_same(tmp_path, name):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.ModernBertConfig(**SIZES | FILES[name])
    config = read(tmp_path, **FILES[name])
    assert read(tmp_path, **theirs.to_dict()) == config
    written = transformers.ModernBertConfig(**make_config(config, "ModernBertForMaskedLM"))
    for key in ("layer_types", "rope_parameters", "local_attention", "classifier_pooling", "norm_eps"):
        assert getattr(written, key) == getattr(theirs, key), key


REFUSED = {
    "rope_type='yarn'": {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
    "rope_type='linear'": {"rope_parameters": {LOCAL: {"rope_type": "linear", "factor": 2.0}}},
    "rope_parameters must hold": {"rope_parameters": {"rope_theta": 5.0}},
    "layer_types must hold": {"layer_types": [FULL] * 4},
    "layer_types must hold .*for each of 5": {"layer_types": [FULL] * 4 + ["chunked_attention"]},
    "decoder_bias=False": {"decoder_bias": False},
    "classifier_pooling='late' is not supported": {"classifier_pooling": "late"},
    "classifier_activation='gegelu' is not supported": {"classifier_activation": "gegelu"},
    "unknown activation 'gegelu'": {"hidden_activation": "gegelu"},
    "attention_window must be": {"local_attention": 0},
    "value of the wrong type": {"global_attn_every_n_layers": 0},
    "a value of the wrong type": {"rope_parameters": {FULL: 3}},
    r"lacks \['num_hidden_layers'\]": {"num_hidden_layers": None},
    "num_layers must be": {"num_hidden_layers": 10**9},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_followed_is_refused_by_its_key(tmp_path, message):
    with pytest.raises(ValueError, match=f"config.json.*{message}"):
        read(tmp_path, **REFUSED[message])


@pytest.mark.parametrize(
    "options",
    [
        {"block_options": ()},  # with a norm before the first attention
        {"block_options": [*windowed([True, False]), {"attention_window": 7, "max_wavelength": 9.0}]},
        {"block_options": windowed([True, False])},  # repeated, the norm left out again
    ],
)
def test_blocks_that_the_format_has_no_place_for(options):
    config = modernbert(90, 3, 4, 32, 24, **options)
    with pytest.raises(ValueError, match="no place for block_options"):
        make_config(config, "ModernBertModel")


def test_special_tokens_are_the_released_ones_where_the_vocabulary_has_them():
    released, own = (modernbert(rows, 3, 4, 32, 24) for rows in (50368, 100))
    assert (released.pad_id, released.bos_id, released.eos_ids) == (50283, 50281, (50282,))
    assert (own.pad_id, own.bos_id, own.eos_ids) == (0, None, ())
