"""EuroBERT's keys in config.json: those of `transformers`, and of the code that came with the release."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.families import eurobert

# The config.json of the release, with smaller sizes.
RELEASED = {
    "architectures": ["EuroBertForMaskedLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 1,
    "clf_pooling": "late", "eos_token_id": 2, "hidden_act": "silu", "hidden_dropout": 0.0, "hidden_size": 32,
    "initializer_range": 0.02, "intermediate_size": 24, "is_decoder": False, "mask_token_id": 4,
    "max_position_embeddings": 64, "mlp_bias": False, "model_type": "eurobert", "num_attention_heads": 4,
    "num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
    "rope_scaling": None, "rope_theta": 250000, "tie_word_embeddings": False, "use_cache": False, "vocab_size": 90,
}  # fmt: skip


def read(folder, **values):
    (folder / "config.json").write_text(json.dumps(RELEASED | values))
    return read_config(folder)[0]


def test_the_released_file_has_the_facts_of_the_family(tmp_path):
    sizes = {"max_length": 64, "num_kv_heads": 2, "pad_id": 2, "bos_id": 1, "eos_ids": (2,)}
    assert read(tmp_path) == eurobert(90, 2, 4, 32, 24, **sizes)


@pytest.mark.parametrize(("theirs", "name"), [("late", "late"), ("bos", "first"), ("mean", "mean")])
def test_what_a_classifier_reads_is_written_for_both(tmp_path, theirs, name):
    config = read(tmp_path, classifier_pooling=theirs, clf_pooling=theirs)
    values = make_config(config, "EuroBertForSequenceClassification")
    assert config.classifier_pooling == name
    assert (values["classifier_pooling"], values["clf_pooling"]) == (theirs, theirs)
    assert read(tmp_path, **values) == config


def test_a_missing_base_is_the_default_of_transformers(tmp_path):
    values = {key: value for key, value in RELEASED.items() if key != "rope_theta"}
    (tmp_path / "config.json").write_text(json.dumps(values))
    assert read_config(tmp_path)[0].max_wavelength == 10_000.0


REFUSED = {
    "clf_pooling='mean' with classifier_pooling='late'": {"clf_pooling": "mean"},
    "classifier_pooling='cls' is not supported": {"classifier_pooling": "cls"},
    "attention_bias=True is not supported": {"attention_bias": True},
    "mlp_bias=True is not supported": {"mlp_bias": True},
    "rope_type='dynamic' is not supported": {"rope_scaling": {"rope_type": "dynamic", "factor": 8.0}},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_followed_is_refused_by_its_key(tmp_path, message):
    with pytest.raises(ValueError, match=f"config.json.*{message}"):
        read(tmp_path, **REFUSED[message])
