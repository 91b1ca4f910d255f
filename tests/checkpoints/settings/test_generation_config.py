from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.generation_config import check_settings, make_generation, read_generation
from keras_transformers.checkpoints.settings.names import FAMILIES, architecture_of
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import bart, marian, mbart

SIZES = {"vocabulary_size": 90, "num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 12}
# What facebook/bart-large-cnn and Helsinki-NLP/opus-mt-en-de say, and what it means here.
RELEASED = {
    "bart": (
        {
            "forced_bos_token_id": 0, "forced_eos_token_id": 2, "early_stopping": True, "length_penalty": 2.0,
            "max_length": 142, "min_length": 56, "no_repeat_ngram_size": 3, "num_beams": 4,
        },
        {
            "forced_bos_id": 0, "forced_eos_id": 2, "length_penalty": 2.0, "max_new_tokens": 141,
            "min_new_tokens": 55, "no_repeat_ngram": 3, "num_beams": 4, "early_stopping": True,
        },
    ),
    "marian": (
        {
            "bad_words_ids": [[89]], "forced_eos_token_id": 0, "max_length": 512, "num_beams": 6,
            "renormalize_logits": True,
        },
        {"suppressed_ids": (89,), "forced_eos_id": 0, "max_new_tokens": 511, "num_beams": 6, "renormalize": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
@pytest.mark.parametrize("family", RELEASED)
def test_settings_of_the_releases(tmp_path, family, file):
    theirs, ours = RELEASED[family]
    (tmp_path / file).write_text(json.dumps(theirs))
    assert read_generation(tmp_path) == ours


def test_a_size_of_our_own_formats_is_no_setting(tmp_path):
    """There `max_length` is that of the model."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "transformer", "max_length": 90, "num_beams": 3}))
    assert read_generation(tmp_path) == {"num_beams": 3}


def test_one_file_goes_before_the_other(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"num_beams": 6}))
    (tmp_path / "generation_config.json").write_text(json.dumps({"max_length": 20, "max_new_tokens": 5}))
    assert read_generation(tmp_path) == {"max_new_tokens": 5, "kept": {"max_length": 20}}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"do_sample": True, "temperature": 0.6, "top_p": 0.9}, {"temperature": 0.6, "top_k": 50, "top_p": 0.9}),
        ({"do_sample": True, "top_k": 0}, {"temperature": 1.0, "top_k": 0}),
        (
            {"do_sample": False, "temperature": 0.6, "min_p": 0.1},
            {"min_p": 0.1, "kept": {"do_sample": False, "temperature": 0.6}},
        ),
        ({"max_length": 20, "max_new_tokens": 7}, {"max_new_tokens": 7, "kept": {"max_length": 20}}),
    ],
    ids=str,
)
def test_settings_of_a_decoder(tmp_path, theirs, ours):
    (tmp_path / "generation_config.json").write_text(json.dumps(theirs))
    assert read_generation(tmp_path, has_source=False) == ours


def test_special_tokens_are_written():
    values = make_generation(bart(**SIZES, eos_ids=(2, 7)), {})
    assert values == {"bos_token_id": 0, "eos_token_id": [2, 7], "pad_token_id": 1, "decoder_start_token_id": 2}
    assert make_generation(mbart(**SIZES), {}) == {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}


@pytest.mark.parametrize("family", RELEASED)
def test_round_trip_through_a_folder(tmp_path, ours, family):
    config, architecture = FAMILIES[family].configure(**SIZES), architecture_of("seq2seq_lm", family)
    settings = RELEASED[family][1]
    model = ours.build(config, architecture)
    save_folder(tmp_path, model, config, None, architecture=architecture, generation=settings)
    assert read_generation(tmp_path) == settings | {"kept": {"pad_token_id": config.pad_id}}


def test_errors(tmp_path):
    (tmp_path / "generation_config.json").write_text(json.dumps({"early_stopping": "never"}))
    with pytest.raises(ValueError, match="early_stopping must be True or False: received 'never'"):
        read_generation(tmp_path)
    with pytest.raises(ValueError, match=r"unknown generation settings \['beams'\]; known are .*'num_beams'"):
        make_generation(marian(**SIZES), {"beams": 2})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_length": "20"}, "max_length must be a number: received '20'"),
        ({"do_sample": True, "temperature": [1]}, r"temperature must be a number: received \[1\]"),
        ({"top_k": "all"}, "top_k must be a number"),
        ({"bad_words_ids": 5}, "the generation setting bad_words_ids must be a list of words, .*: received 5"),
        ({"bad_words_ids": [5]}, "the generation setting bad_words_ids must be"),
        ({"bad_words_ids": [[3, 4], []]}, "the generation setting bad_words_ids must be"),
        ({"bad_words_ids": [["no"]]}, "the generation setting suppressed_ids must be"),
        ({"bad_words_ids": [[10**30]]}, "the generation setting suppressed_ids must be"),
    ],
)
def test_values_of_another_type(tmp_path, values, message):
    (tmp_path / "generation_config.json").write_text(json.dumps(values))
    with pytest.raises(ValueError, match=rf"generation_config\.json: {message}"):
        read_generation(tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {"early_stopping": "never"},
        {"early_stopping": 1},
        {"renormalize": "x"},
        {"forced_eos_id": 90},
        {"forced_eos_id": "x"},
        {"forced_bos_id": -5},
        {"suppressed_ids": (3, 10**6)},
        {"suppressed_ids": 5},
        {"max_new_tokens": None},
        {"max_new_tokens": "9"},
        {"top_p": float("nan")},
        {"temperature": True},
    ],
    ids=str,
)
def test_settings_that_could_not_be_saved_or_obeyed(settings):
    """Told when they are set: a folder that holds them could not be loaded."""
    (name,) = settings
    with pytest.raises(ValueError, match=f"the generation setting {name} must be .*: received "):
        check_settings(settings, 90)


def test_settings_are_a_dict():
    for settings in (None, 5, []):
        with pytest.raises(ValueError, match="generation settings are a dict"):
            check_settings(settings, 90)


def test_an_error_names_the_file_that_was_read(tmp_path):
    (tmp_path / "config.json").write_text('{"num_beams": "six"}')
    with pytest.raises(ValueError, match=r"config\.json: num_beams must be a number: received 'six'") as error:
        read_generation(tmp_path)
    assert "generation_config" not in str(error.value)


@pytest.mark.parity
def test_transformers_reads_them(tmp_path, ours):
    transformers = pytest.importorskip("transformers")
    config = marian(**SIZES, eos_ids=[3])
    settings = {"num_beams": 5, "no_repeat_ngram": 2, "suppressed_ids": (89,), "max_new_tokens": 30}
    model = ours.build(config, "MarianMTModel")
    save_folder(tmp_path, model, config, None, architecture="MarianMTModel", generation=settings)
    theirs = transformers.MarianMTModel.from_pretrained(tmp_path).generation_config
    read = (theirs.num_beams, theirs.no_repeat_ngram_size, theirs.bad_words_ids, theirs.max_new_tokens)
    assert read == (5, 2, [[89]], 30)
    assert (theirs.eos_token_id, theirs.decoder_start_token_id, theirs.forced_eos_token_id) == (3, 89, None)
