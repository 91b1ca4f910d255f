"""What a configuration asks for is checked before anything is made from it."""

from __future__ import annotations

import math

import family_cases
import keras
import pytest

from keras_transformers import families
from keras_transformers.config.limits import MOST, MOST_BLOCKS, least_weights
from keras_transformers.models import encoder

SIZES = {"vocabulary_size": 90, "num_layers": 2, "num_heads": 4, "hidden_dim": 16}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary_size": 10**12}, "vocabulary_size must be at most 2147483647: received 1000000000000"),
        ({"max_length": 10**12}, "max_length must be at most"),
        ({"num_segments": 2**31}, "num_segments must be at most"),
        ({"intermediate_dim": 10**12}, "intermediate_dim must be at most"),
        ({"num_layers": 10**9}, "num_layers must be at most 1000: received 1000000000"),
        ({"vocabulary_size": MOST, "hidden_dim": 2**20}, r"at least 2.28e\+15 weights; at most 1e\+13"),
        ({"num_segments": -1}, "num_segments must be an integer >= 0"),
        ({"num_segments": True}, "num_segments must be an integer >= 0"),
        ({"dropout": True}, "dropout must be a rate"),
        ({"dropout": math.nan}, "dropout must be a rate"),
        ({"epsilon": math.nan}, "epsilon must be a number of 0 or more: received nan"),
        ({"epsilon": 10**400}, "epsilon must be a number of 0 or more"),
        ({"epsilon": -1e-5}, "epsilon must be a number of 0 or more"),
        ({"max_wavelength": 0}, "max_wavelength must be a positive number"),
        (
            {"positions": "rotary", "rotary_scaling": {"kind": "linear", "factor": 0}},
            "factor of a rotary scaling must be a number of 1 or",
        ),
        (
            {"partial_rotary_factor": 0.5},
            r"needs positions='rotary': received partial_rotary_factor=0\.5",
        ),
        ({"intermediate_bias": 1}, "intermediate_bias must be True or False: received 1"),
        ({"attention_scale": math.inf}, "attention_scale must be a finite number"),
        ({"initializer_range": "large"}, 'initializer_range must be a number of 0 or more, or "fan_in"'),
        ({"use_bias": "false"}, "use_bias must be True or False: received 'false'"),
        ({"gated": 1}, "gated must be True or False"),
        ({"activation": None}, "activation must be a str"),
        ({"pad_id": True}, r"pad_id must be a token id in \[0, 90\): received True"),
        ({"bos_id": math.nan}, "bos_id must be a token id"),
        ({"eos_ids": [1.5]}, "eos_ids must be a token id"),
        ({"eos_ids": "</s>"}, "eos_ids must be a list of token ids"),
    ],
)
def test_what_no_model_has(options, message):
    with pytest.raises(ValueError, match=message):
        families.bert(**SIZES | options)


@pytest.mark.parametrize("num_layers", [0, -1, "2", None, 10**400, math.nan])
@pytest.mark.parametrize("name", family_cases.CASES)
def test_facts_that_are_computed_from_sizes(name, num_layers):
    with pytest.raises(ValueError, match="num_layers must be"):
        family_cases.CASES[name].small(num_layers=1 if (name, num_layers) == ("model2vec", 0) else num_layers)


def test_the_deepest_model():
    assert families.bert(**SIZES | {"num_layers": MOST_BLOCKS}).num_layers == MOST_BLOCKS


def test_least_weights_are_nearly_all():
    config = families.bert(**SIZES | {"hidden_dim": 256})
    with keras.StatelessScope(initialize_variables=False):
        weights = encoder(config).count_params()
    assert 0.98 * weights < least_weights(config) < weights


@pytest.mark.parametrize("num_layers", [False, 0.0])
def test_no_blocks_are_the_integer_0(num_layers):
    with pytest.raises(ValueError, match="num_layers must be a positive integer: received"):
        families.static(90, 16, num_layers=num_layers)
