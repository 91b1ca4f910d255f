from __future__ import annotations

import pytest
from rope_kinds import ROPES

from keras_transformers.config import BlockOptions, RotaryScaling, TransformerConfig
from keras_transformers.config.rotary_scaling import as_dict, make_scaling
from keras_transformers.families import bert, llama
from keras_transformers.families.rotary_keys import read_scaling

SIZES = (90, 2, 4, 32, 48)
LINEAR = {"kind": "linear", "factor": 4}


@pytest.mark.parametrize("name", ROPES)
def test_there_and_back(name):
    scaling = make_scaling(read_scaling(ROPES[name], 32))
    assert make_scaling(as_dict(scaling)) == scaling == make_scaling(scaling)
    config = llama(*SIZES, rotary_scaling=scaling)
    assert config == llama(*SIZES, rotary_scaling=as_dict(scaling)) == TransformerConfig.from_dict(config.to_dict())
    assert (as_dict(None), make_scaling(None)) == (None, None)


def test_a_block_has_the_scale_of_the_model_or_another_one():
    config = llama(
        *SIZES, rotary_scaling=LINEAR, block_options=[{"rotary_scaling": {"kind": "linear", "factor": 2}}, {}]
    )
    assert [config.block(index).rotary_scaling.factor for index in range(2)] == [2, 4]
    still = config.replace(block_options=[{"rotary": False}])
    assert still.block(1) == BlockOptions(rotary=False)


def test_the_rotated_part_of_a_head():
    assert [llama(*SIZES, partial_rotary_factor=share).rotary_dim for share in (0.25, 0.5, 1)] == [2, 4, 8]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "dynamic", "factor": 2}, "kind of a rotary scaling must be one of .*: received 'dynamic'"),
        ({"factor": 2}, "rotary_scaling must be None, or a dict with 'kind'"),
        ("linear", "rotary_scaling must be None, or a dict with 'kind'"),
        ({"kind": "linear", "factors": 2}, r"unknown keys of rotary_scaling \['factors'\]"),
        ({"kind": "linear", "factor": "2"}, "factor of a rotary scaling must be a number of 1 or more: received '2'"),
        ({"kind": "linear", "factor": 0.5}, "factor of a rotary scaling must be a number of 1 or more"),
        ({"kind": "yarn", "factor": 2}, "original_length of 'yarn' must be a positive integer.*received None"),
        ({"kind": "yarn", "original_length": 8, "beta_fast": -1}, "beta_fast .* must be a positive number"),
        ({"kind": "yarn", "original_length": 8, "truncate": 1}, "truncate must be True or False"),
        (
            {"kind": "llama3", "original_length": 8, "low_frequency_factor": 4},
            "low_frequency_factor must be less than high_frequency_factor",
        ),
        ({"kind": "longrope", "original_length": 8}, r"short_factors belong to kind='longrope', which needs them"),
        ({"kind": "linear", "long_factors": [1.0]}, "long_factors belong to kind='longrope'"),
        (
            {"kind": "longrope", "original_length": 8, "short_factors": [1, 0], "long_factors": [1, 1]},
            "short_factors of a rotary scaling must be a list of positive numbers",
        ),
        (
            {"kind": "longrope", "original_length": 8, "short_factors": [1], "long_factors": [1]},
            "short_factors of rotary_scaling must be 4 numbers, half of the 8 units",
        ),
    ],
)
def test_what_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        llama(*SIZES, rotary_scaling=values)


def test_what_other_fields_refuse():
    with pytest.raises(ValueError, match="rotary_scaling needs positions='rotary'"):
        bert(90, 2, 4, 32, rotary_scaling=LINEAR)
    with pytest.raises(ValueError, match="rotary, max_wavelength and rotary_scaling of block_options need"):
        bert(90, 2, 4, 32, block_options=[{"rotary_scaling": LINEAR}])
    with pytest.raises(ValueError, match="a block with rotary=False has no rotary_scaling"):
        llama(*SIZES, block_options=[{"rotary_scaling": LINEAR, "rotary": False}])
    with pytest.raises(ValueError, match=r"must be an even number, received 8 times 0\.4"):
        llama(*SIZES, partial_rotary_factor=0.4)
    for share in (0, 1.5, "x"):
        with pytest.raises(ValueError, match=r"partial_rotary_factor must be a share in \(0, 1\]"):
            llama(*SIZES, partial_rotary_factor=share)
    longrope = RotaryScaling("longrope", 2, 8, short_factors=(1,) * 4, long_factors=(2,) * 4)
    with pytest.raises(ValueError, match="by the length of texts needs kind='decoder': received kind='encoder'"):
        bert(90, 2, 4, 32, positions="rotary", rotary_scaling=longrope)
