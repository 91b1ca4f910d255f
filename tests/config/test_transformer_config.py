from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from bert_model import small_config
from small_seq2seq import small_config as two_stacks

from keras_transformers.config.block_options import BlockOptions
from keras_transformers.config.transformer_config import TransformerConfig


def test_round_trip_through_json():
    config = small_config(num_kv_heads=2, positions="rotary", gated=True)
    assert TransformerConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_it_shows_what_is_not_the_default_and_can_be_read_back():
    config = small_config(block_options=[{"attention_window": 4}], num_layers=1, dropout=0.5)
    assert "dropout=0.5" in repr(config) and "epsilon" not in repr(small_config(epsilon=1e-12))
    names = {"TransformerConfig": TransformerConfig, "BlockOptions": BlockOptions}
    assert eval(repr(config), names) == config


def test_sizes_from_arrays_become_plain_numbers():
    config = small_config(hidden_dim=np.int64(16), num_heads=np.int32(2), dropout=np.float32(0.5))
    assert {type(config.hidden_dim), type(config.num_heads), type(config.head_dim)} == {int}
    json.dumps(config.to_dict())


@pytest.mark.parametrize("kind", [bool, int, float])
def test_every_field_takes_numpys_scalars_as_plain_values(kind):
    config = small_config()
    scalars = {name: np.asarray(value)[()] for name, value in config.to_dict().items() if type(value) is kind}
    assert len(scalars) > 5 and all(isinstance(value, np.generic) for value in scalars.values())
    changed = config.replace(**scalars)
    assert changed == config
    assert json.loads(json.dumps(changed.to_dict())) == json.loads(json.dumps(config.to_dict()))


def test_use_bias_is_not_ignored_beside_all_biases():
    values = small_config().to_dict()
    for use_bias, of_file in ((False, values), (True, small_config(use_bias=False).to_dict())):
        with pytest.raises(ValueError, match=rf"not given: received use_bias={use_bias} .*replace\(use_bias"):
            TransformerConfig.from_dict(of_file | {"use_bias": use_bias})
    with pytest.raises(ValueError, match="received use_bias=False"):
        TransformerConfig(**values | {"use_bias": False})
    assert TransformerConfig.from_dict(values | {"use_bias": True}) == small_config()
    mixed = small_config(attention_bias=False).to_dict()
    assert not TransformerConfig.from_dict(mixed | {"use_bias": False}).attention_bias
    older = {name: value for name, value in values.items() if not name.endswith("_bias")}
    assert not TransformerConfig.from_dict(older | {"use_bias": False}).use_bias


def test_defaults_follow_from_the_sizes():
    config = small_config()
    assert (config.head_dim, config.num_kv_heads) == (4, 4)
    assert small_config(head_dim=3, hidden_dim=17).head_dim == 3


def test_a_config_does_not_change():
    config = small_config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.num_layers = 3
    assert config.replace(num_layers=3).num_layers == 3
    assert config.num_layers == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 0}, "num_layers must be a positive integer: received 0"),
        ({"num_heads": 2.0}, "received hidden_dim=16, num_heads=2.0"),
        ({"num_layers": True}, "num_layers must be a positive integer: received True"),
        ({"hidden_dim": 18}, "hidden_dim=18, num_heads=4"),
        ({"hidden_dim": "16"}, "hidden_dim='16'"),
        ({"num_kv_heads": 3}, "num_heads=4, num_kv_heads=3"),
        ({"dropout": 1.0}, r"dropout must be a rate in \[0, 1\): received 1.0"),
        ({"attention_dropout": -0.1}, "attention_dropout must be a rate"),
        ({"norm": "batch"}, r"norm must be one of \('layer', 'rms', 'offset_rms'\): received 'batch'"),
        ({"norm_order": "both"}, "norm_order must be one of"),
        ({"positions": "none"}, "positions must be one of"),
        ({"positions": "disentangled"}, "disentangled positions need .* position_buckets=None"),
        ({"positions": "disentangled", "position_buckets": 6, "kind": "decoder"}, "need an encoder.*kind='decoder'"),
        ({"positions": "disentangled", "position_buckets": 6, "num_kv_heads": 2}, "num_heads=4, num_kv_heads=2"),
        (
            {"positions": "disentangled", "position_buckets": 0},
            "position_buckets must be a positive integer: received 0",
        ),
        ({"positions": "disentangled", "position_buckets": 7}, "must be an even number from 4 on.*received 7 buckets"),
        ({"positions": "disentangled", "position_buckets": 6, "max_distance": 4}, "with a largest distance of 4"),
        ({"positions": "disentangled", "position_buckets": 6, "max_distance": 2**30}, "at most 1048576: received"),
        ({"max_distance": 6}, "max_distance needs positions='disentangled'"),
        ({"activation_dropout": 1}, "activation_dropout must be a rate"),
        ({"position_layout": "mixed"}, "position_layout must be one of .*'fairseq'"),
        ({"kind": "both"}, "kind must be one of .*'encoder_decoder'"),
        ({"num_decoder_layers": 2}, "num_decoder_layers needs kind='encoder_decoder'.*with kind='encoder'"),
        ({"decoder_start_id": 0}, "decoder_start_id needs kind='encoder_decoder'"),
        ({"pad_id": 30}, r"pad_id must be a token id in \[0, 30\): received 30"),
    ],
)
def test_errors_say_what_was_received(changes, message):
    with pytest.raises(ValueError, match=message):
        small_config(**changes)
    with pytest.raises(ValueError, match=message):
        small_config().replace(**({"head_dim": None} | changes))


def test_an_unknown_key_is_an_error():
    with pytest.raises(ValueError, match=r"unknown configuration keys \['num_layer'\].*num_layers"):
        TransformerConfig.from_dict(small_config().to_dict() | {"num_layer": 1})


def test_two_stacks():
    config = two_stacks("marian")
    assert TransformerConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert config.replace(num_decoder_layers=None).num_decoder_layers == config.num_layers == 1
    with pytest.raises(ValueError, match="encoder_vocabulary_size must be a positive integer: received 0"):
        config.replace(encoder_vocabulary_size=0)
    with pytest.raises(ValueError, match=r"decoder_start_id must be a token id in \[0, 30\): received 30"):
        config.replace(decoder_start_id=30)
