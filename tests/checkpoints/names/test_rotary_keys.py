"""The keys of rotary positions in config.json, in both forms, without a model."""

import pytest
from rope_kinds import LONG, ORIGINAL, ROPES, YARN

from keras_transformers.config.rotary_scaling import make_scaling
from keras_transformers.families.rotary_keys import flat_parameters, read_scaling, write_scaling, written_keys


@pytest.mark.parametrize("name", ROPES)
def test_there_and_back(name):
    scaling = read_scaling(ROPES[name], 32)
    options = write_scaling(scaling, 50.0, 0.5)
    assert (options["rope_theta"], options["partial_rotary_factor"]) == (50.0, 0.5)
    assert read_scaling(options) == scaling  # without the length: the factor is written
    keys = written_keys({"rope_theta": 50.0, "rope_scaling": scaling})
    for form in ("rope_scaling", "rope_parameters"):
        assert read_scaling(flat_parameters({form: keys[form]})) == scaling
    assert keys.get("original_max_position_embeddings") == (ORIGINAL if name.startswith("longrope") else None)


def test_no_scale():
    for options in ({}, {"rope_type": "default"}, {"type": "default", "rope_theta": 5.0}, {"rope_type": None}):
        assert read_scaling(options) is None
    assert written_keys({"rope_theta": 5.0, "rope_scaling": None}) == {
        "rope_parameters": {"rope_theta": 5.0, "rope_type": "default"}, "rope_scaling": None,
    }  # fmt: skip
    assert written_keys({"rope_theta": 5.0}) == {"rope_parameters": {"rope_theta": 5.0, "rope_type": "default"}}


def test_what_follows_from_lengths():
    assert read_scaling(LONG, 48)["factor"] == 4.0
    assert read_scaling(YARN | {"factor": None}, 30)["factor"] == 2.5
    assert "factor" not in read_scaling(LONG, ORIGINAL)  # 1, the default
    linear = {"rope_type": "yarn", "factor": 2.0}
    assert read_scaling(linear, 40)["original_length"] == 40


def test_where_keys_are():
    assert read_scaling({"type": "su", **{key: LONG[key] for key in LONG if key != "rope_type"}}, 32) == read_scaling(
        LONG, 32
    )
    both = {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"rope_type": "default"}}
    assert flat_parameters(both) == {"rope_type": "linear", "factor": 2.0}
    assert flat_parameters({"rope_parameters": YARN, "original_max_position_embeddings": 7})[
        "original_max_position_embeddings"
    ] == 7  # fmt: skip
    assert flat_parameters({"rope_scaling": None, "rope_parameters": None}) == {}


def test_scales_of_attention():
    """As in DeepSeek and Ministral: a ratio, 1 where both are equal."""
    same = make_scaling(read_scaling(YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}))
    alone = make_scaling(read_scaling(YARN | {"mscale": 2.0}))
    assert (same.multiplier, alone.multiplier) == (1.0, make_scaling(read_scaling(YARN)).multiplier)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rope_type": "dynamic", "factor": 2.0}, "rope_type='dynamic' is not supported; only"),
        ({"rope_type": ["linear"]}, r"rope_type=\['linear'\] is not supported"),
        ({"rope_type": "linear"}, r"rope_type='linear' needs \['factor'\]"),
        ({"rope_type": "llama3", "factor": 2.0}, r"needs \['low_freq_factor', 'high_freq_factor'\]"),
        ({"rope_type": "linear", "factor": "2"}, "is not supported: factor of a rotary scaling must be a number"),
        (YARN | {"original_max_position_embeddings": "x"}, "original_length of 'yarn' must be a positive integer"),
        (YARN | {"mscale": "x", "mscale_all_dim": 1}, "must be numbers beside a factor"),
        (LONG | {"long_factor": None, "factor": 2}, "long_factors belong to kind='longrope', which needs them"),
        ({"full_attention": {"rope_type": "default"}}, r"by the type of layers, \['full_attention'\]"),
    ],
)  # fmt: skip
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        read_scaling(options, 32)


def test_what_a_kind_does_not_use_is_told():
    with pytest.warns(UserWarning, match=r"rope_type='default' do not use \['factor', 'mrope_section'\]"):
        assert read_scaling({"rope_type": "default", "factor": 8.0, "mrope_section": [1, 1]}) is None
