"""Each key of generation_config.json is followed, refused, told or technical; none is lost."""

from __future__ import annotations

import json
import warnings

import pytest

from keras_transformers.checkpoints.settings.generation_config import make_generation, read_generation
from keras_transformers.checkpoints.settings.generation_keys import KNOWN
from keras_transformers.families import bart, gpt2

SIZES = {"vocabulary_size": 90, "num_layers": 1, "num_heads": 2, "hidden_dim": 8, "max_length": 12}
FOLLOWED = {
    "suppress_tokens": [5, 6], "begin_suppress_tokens": [7], "sequence_bias": [[[5], 2.0], [[5, 6], -1.0]],
    "encoder_repetition_penalty": 1.3, "encoder_no_repeat_ngram_size": 2, "forced_decoder_ids": [[1, 7], [2, 9]],
    "exponential_decay_length_penalty": [3, 1.5], "typical_p": 0.5, "epsilon_cutoff": 0.1, "eta_cutoff": 0.1,
    "remove_invalid_values": True,
}  # fmt: skip
NEUTRAL = {
    "guidance_scale": 1.0, "num_beam_groups": 1, "diversity_penalty": 0.0, "penalty_alpha": 0, "constraints": [],
    "force_words_ids": None, "token_healing": False, "num_return_sequences": 1, "max_time": None, "min_length": 0,
    "watermarking_config": {}, "suppress_tokens": [], "stop_strings": [], "bad_words_ids": [], "dola_layers": None,
    "sequence_bias": None, "exponential_decay_length_penalty": None, "forced_decoder_ids": [], "do_sample": False,
    "prompt_lookup_num_tokens": 3, "use_cache": True, "transformers_version": "4.30.0", "output_scores": False,
    "_from_model_config": True, "cache_implementation": "static", "pad_token_id": 0, "eos_token_id": [2, 3],
}  # fmt: skip


def read(folder, values, file="generation_config.json", has_source=True):
    """The settings of a file, and what is told of it."""
    (folder / file).write_text(json.dumps(values))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        settings = read_generation(folder, has_source)
    return settings, [str(warning.message) for warning in told]


@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
def test_what_is_followed(tmp_path, file):
    assert read(tmp_path, FOLLOWED, file) == (FOLLOWED, [])
    words = {"bad_words_ids": [[3], [4, 5]], "stop_strings": "\n"}
    settings = {"suppressed_ids": (3,), "bad_words_ids": [[4, 5]], "stop": ["\n"]}
    assert read(tmp_path, words, file) == (settings, [])
    written = make_generation(gpt2(**SIZES), settings | FOLLOWED)
    assert written == words | FOLLOWED | {"stop_strings": ["\n"]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"guidance_scale": 2.0}, "guidance_scale=2.0 is not supported"),
        ({"num_beam_groups": 2, "num_beams": 4}, "num_beam_groups=2 is"),
        ({"penalty_alpha": 0.6}, "penalty_alpha=0.6 is"),
        ({"top_h": 0.4, "do_sample": True}, "top_h=0.4 is"),
        ({"watermarking_config": {"bias": 2.0}}, "watermarking_config={'bias': 2.0} is"),
        ({"constraints": [1], "force_words_ids": [[5]]}, r"constraints=\[1\], force_words_ids=\[\[5\]\] is"),
        ({"dola_layers": "high"}, "dola_layers='high' is"),
        ({"token_healing": True}, "token_healing=True is"),
    ],
    ids=str,
)
def test_what_is_refused(tmp_path, values, message):
    with pytest.raises(ValueError, match=rf"generation_config\.json: {message}.*[Tt]ake it out of the file"):
        read(tmp_path, values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_time": 1.0}, "max_time=1.0 is not followed"),
        ({"num_return_sequences": 3}, "num_return_sequences=3 is not followed: num_sequences=..."),
        ({"do_sample": True, "num_beams": 3}, "do_sample=True is not followed: beams are searched, not sampled"),
        ({"min_length": 4}, "min_length=4 is not followed: it counts the prompt too"),
        (
            {"repetition_penality": 1.2},
            "unknown keys, which change nothing: 'repetition_penality' (repetition_penalty?)",
        ),
    ],
    ids=str,
)
def test_what_is_told(tmp_path, values, message):
    (told,) = read(tmp_path, values, has_source=False)[1]
    assert told.startswith(str(tmp_path / "generation_config.json")) and message in told


def test_what_says_nothing(tmp_path):
    """Neutral values, what is technical, what is idle with the other keys; and what else a config.json has."""
    settings, told = read(tmp_path, NEUTRAL, has_source=False)
    assert told == [] and settings.keys() == {"kept"}
    idle = {"top_h": 0.4, "num_beam_groups": 2, "penalty_alpha": 0.6, "num_beams": 1, "do_sample": False}
    assert read(tmp_path, idle | {"do_sample": True, "top_h": None})[1] == []
    assert read(tmp_path, idle | {"penalty_alpha": 0})[1] == []
    (tmp_path / "generation_config.json").unlink()
    assert read(tmp_path, {"hidden_size": 8, "use_cache": True, "model_typo": 3}, "config.json") == ({}, [])


def test_what_is_not_used_is_written_again(tmp_path):
    ids = {"bos_token_id", "eos_token_id", "decoder_start_token_id", "_from_model_config"}
    values = NEUTRAL | {"num_beams": 4, "max_time": 2.0, "temperature": 0.5, "max_length": 30, "notes": {"by": ["me"]}}
    settings, _ = read(tmp_path, values, has_source=False)
    expected = {key: value for key, value in values.items() if key not in ids}
    assert make_generation(gpt2(**SIZES), settings) == expected
    changed = make_generation(gpt2(**SIZES), settings | {"temperature": 0.7, "num_beams": 1, "suppress_tokens": [3]})
    assert changed == expected | {
        "num_beams": 1, "do_sample": True, "temperature": 0.7, "top_k": 0, "suppress_tokens": [3],
    }  # fmt: skip


def test_a_forced_beginning_of_an_old_bart(tmp_path):
    """distilbart's config.json: the token that is forced is its BOS, which BART's configuration has by default."""
    values = {"force_bos_token_to_be_generated": True, "bos_token_id": 4}
    assert read(tmp_path, values, "config.json") == ({"forced_bos_id": 4}, [])
    assert read(tmp_path, {"force_bos_token_to_be_generated": True}, "config.json")[0] == {"forced_bos_id": 0}
    assert read(tmp_path, values | {"forced_bos_token_id": 6}, "config.json")[0] == {"forced_bos_id": 6}
    assert read(tmp_path, values | {"force_bos_token_to_be_generated": False}, "config.json")[0].keys() == {"kept"}
    assert make_generation(bart(**SIZES), {"forced_bos_id": 4})["forced_bos_token_id"] == 4


@pytest.mark.parametrize(
    "values",
    [
        {"suppress_tokens": 5}, {"suppress_tokens": [5.5]}, {"begin_suppress_tokens": ["a"]}, {"sequence_bias": [5]},
        {"sequence_bias": [[[], 1.0]]}, {"sequence_bias": [[[5], None]]}, {"sequence_bias": {"a": 1}}, {"typical_p": 0},
        {"forced_decoder_ids": [[0, 5]]}, {"forced_decoder_ids": [[1, None]]}, {"encoder_repetition_penalty": 0},
        {"encoder_no_repeat_ngram_size": 1.5}, {"exponential_decay_length_penalty": [1]}, {"epsilon_cutoff": 2},
        {"exponential_decay_length_penalty": 3}, {"stop_strings": [""]}, {"stop_strings": 5}, {"eta_cutoff": -1},
        {"remove_invalid_values": 1},
    ],
    ids=str,
)  # fmt: skip
def test_values_that_cannot_be_followed(tmp_path, values):
    (key,) = values
    with pytest.raises(ValueError, match=rf"generation_config\.json: .*{key.removesuffix('_strings')}.* must be "):
        read(tmp_path, values)


@pytest.mark.parity
def test_every_key_of_transformers_is_known():
    transformers = pytest.importorskip("transformers")
    assert {key for key in vars(transformers.GenerationConfig()) if not key.startswith("_")} <= KNOWN


@pytest.mark.parity
def test_transformers_reads_what_is_written_again(tmp_path):
    transformers = pytest.importorskip("transformers")
    settings, _ = read(tmp_path, FOLLOWED | {"max_time": 2.0, "use_cache": False, "bad_words_ids": [[3], [4, 5]]})
    (tmp_path / "generation_config.json").write_text(json.dumps(make_generation(gpt2(**SIZES), settings)))
    back = transformers.GenerationConfig.from_pretrained(tmp_path)
    for key, value in (FOLLOWED | {"max_time": 2.0, "use_cache": False, "bad_words_ids": [[3], [4, 5]]}).items():
        assert getattr(back, key) == value, key
