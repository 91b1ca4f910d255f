"""Options of single blocks: in a configuration, through JSON, and what is refused."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from bert_model import small_config
from small_seq2seq import small_config as two_stacks

from keras_transformers import families
from keras_transformers.config.block_options import BlockOptions, make_block_options
from keras_transformers.config.transformer_config import TransformerConfig

GEMMA = [{"attention_window": 4, "max_wavelength": 10}, {}]


def test_block_options_survive_json():
    config = small_config(positions="rotary", norm_order="pre", block_options=[*GEMMA, {"rotary": False}], num_layers=3)
    again = TransformerConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert hash(again) == hash(config)
    assert config.to_dict()["block_options"][2]["rotary"] is False
    assert config.replace(block_options=()) != config
    assert config.replace(block_options=tuple(BlockOptions(**values) for values in GEMMA)).num_layers == 3


def test_a_configuration_without_block_options_is_as_before():
    values = small_config().to_dict()
    assert values.pop("block_options") == ()
    config = TransformerConfig.from_dict(values)
    assert config == small_config()
    assert config.block(1) == BlockOptions(rotary=False)
    assert small_config(positions="rotary", max_wavelength=500).block(1) == BlockOptions(max_wavelength=500)


def test_block_options_are_repeated_over_the_blocks():
    config = small_config(positions="rotary", max_wavelength=500.0, num_layers=5, block_options=GEMMA)
    assert [config.block(index).attention_window for index in range(5)] == [4, None, 4, None, 4]
    assert [config.block(index).max_wavelength for index in range(5)] == [10, 500, 10, 500, 10]
    still = config.replace(block_options=[{"rotary": False, "attention_window": np.int64(3)}])
    assert {still.block(index) for index in range(5)} == {BlockOptions(attention_window=3, rotary=False)}
    json.dumps(still.to_dict())


def test_block_options_of_two_stacks():
    config = two_stacks("t5", block_options=[{}, {"attention_window": 4}])
    assert (config.num_blocks("encoder"), config.num_blocks("decoder")) == (1, 2)
    assert [config.block(index, "decoder").attention_window for index in range(2)] == [None, 4]
    assert config.block(0, "encoder").attention_window is None
    with pytest.raises(ValueError, match=r"sides \('encoder', 'decoder'\): received None"):
        config.block(0)
    with pytest.raises(ValueError, match=r"expected a block in \[0, 1\): received 1"):
        config.block(1, "encoder")
    with pytest.raises(ValueError, match="received 'decoder'"):
        small_config().block(0, "decoder")
    with pytest.raises(ValueError, match=r"expected a block in \[0, 2\): received -1"):
        small_config().block(-1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention_window": 4}, r"block_options must be a list .*received \{'attention_window': 4\}"),
        ("window", "block_options must be a list .*received 'window'"),
        (4, "block_options must be a list .*received 4"),
        ([4], "block_options must hold dicts or BlockOptions: received 4"),
        ([{"window": 4}], r"unknown options of a block \['window'\].*'attention_window'"),
        ([{"attention_window": 0}], "attention_window must be a positive integer, or None .*received 0"),
        ([{"attention_window": 2.0}], "attention_window must be a positive integer, or None .*received 2.0"),
        ([{"attention_window": True}], "attention_window must be a positive integer, or None .*received True"),
        ([{"max_wavelength": 0}], "max_wavelength of a block must be a positive number: received 0"),
        ([{"max_wavelength": float("nan")}], "max_wavelength of a block must be a positive number: received nan"),
        ([{"max_wavelength": "10"}], "max_wavelength of a block must be a positive number: received '10'"),
        ([{"rotary": False, "max_wavelength": 10}], "rotary=False has no wavelengths: received max_wavelength=10"),
        ([{"rotary": None}], "rotary of a block must be True or False: received None"),
        ([{"attention_norm": 1}], "attention_norm of a block must be True or False: received 1"),
        ([{}, {}, {}], "received 3 for 2 blocks"),
    ],
)
def test_errors_of_block_options(options, message):
    with pytest.raises(ValueError, match=message):
        small_config(positions="rotary", norm_order="pre", block_options=options)


def test_block_options_that_do_not_fit_the_other_fields():
    for options in ({"rotary": False}, {"max_wavelength": 10}):
        with pytest.raises(ValueError, match=r"rotary, max_wavelength and .* with positions='alibi'"):
            small_config(positions="alibi", block_options=[options])
    with pytest.raises(ValueError, match=r"attention_norm=False .* received norm_order='post'"):
        small_config(block_options=[{"attention_norm": False}])


def test_values_are_plain_and_do_not_change():
    options = BlockOptions(attention_window=np.int32(8), max_wavelength=np.float32(500))
    assert (type(options.attention_window), type(options.max_wavelength)) == (int, float)
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.attention_window = 4


def test_options_and_dicts_may_stand_side_by_side():
    options = BlockOptions(attention_norm=False)
    assert make_block_options((options, {"attention_window": 2}, {})) == (options, BlockOptions(2), BlockOptions())
    assert make_block_options([]) == ()


def test_blocks_with_a_state():
    state, sizes = {"mixer": "short_convolution"}, {"num_layers": 2, "num_heads": 2, "hidden_dim": 16}
    config = families.gpt2(30, **sizes, block_options=[state, {}])
    assert [config.block(index).mixer for index in range(2)] == ["short_convolution", "attention"]
    assert config.has_states and not families.gpt2(30, **sizes).has_states
    for options, message in (
        ({"block_options": [state]}, "needs kind='decoder', parallel=False and a block with attention"),
        ({"block_options": [{"mixer": "lstm"}, {}]}, "mixer of a block must be one of .*received 'lstm'"),
        ({"block_options": [state | {"attention_window": 3}, {}]}, "a block with mixer='short_convolution' has no att"),
        ({"block_options": [{"mixer": "gated_delta"}, {}]}, "needs sizes of its memory.*'memory_heads': None"),
    ):
        with pytest.raises(ValueError, match=message):
            families.gpt2(30, **sizes, **options)
