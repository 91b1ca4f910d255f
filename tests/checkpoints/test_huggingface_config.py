import json

import pytest

from keras_transformers.checkpoints.huggingface_config import make_config, read_config
from keras_transformers.families import bert

SIZES = {"vocabulary_size": 90, "num_layers": 3, "num_heads": 4, "hidden_dim": 32}
CONFIG = bert(**SIZES, activation="gelu_tanh", dropout=0.2, pad_id=3)
MINIMAL = {
    "model_type": "bert", "vocab_size": 90, "num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32,
    "intermediate_size": 128, "max_position_embeddings": 512,
}  # fmt: skip


def write(folder, **changes):
    (folder / "config.json").write_text(json.dumps({**MINIMAL, **changes}))
    return folder


@pytest.mark.parametrize(
    ("architecture", "labels", "problem"),
    [
        ("BertModel", None, None),
        ("BertForSequenceClassification", ("no", "yes"), "single_label"),
        ("BertForSequenceClassification", tuple("abcdefghijkl"), "multi_label"),
        ("BertForSequenceClassification", ("score",), "regression"),
    ],
)
def test_round_trip(tmp_path, architecture, labels, problem):
    values = make_config(CONFIG, architecture, labels, problem)
    (tmp_path / "config.json").write_text(json.dumps(values))
    extra = {"architecture": architecture, "labels": labels, "problem": problem}
    assert read_config(tmp_path) == (CONFIG, extra)


def test_defaults_of_old_files(tmp_path):
    config, extra = read_config(write(tmp_path, pad_token_id=None))
    assert config == bert(**SIZES)
    assert extra == {"architecture": None, "labels": None, "problem": None}


@pytest.mark.parametrize(
    ("changes", "labels", "problem"),
    [
        ({}, ("LABEL_0", "LABEL_1"), "single_label"),
        ({"id2label": {"1": "b", "0": "a", "10": "d", "2": "c"}}, ("a", "b", "c", "d"), "single_label"),
        ({"id2label": {"0": "score"}}, ("score",), "regression"),
        ({"problem_type": "multi_label_classification"}, ("LABEL_0", "LABEL_1"), "multi_label"),
    ],
)
def test_labels_and_problem_as_transformers_infers_them(tmp_path, changes, labels, problem):
    _, extra = read_config(write(tmp_path, architectures=["BertForSequenceClassification"], **changes))
    assert (extra["labels"], extra["problem"]) == (labels, problem)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "mamba"}, "unknown model family 'mamba'; known are .*'bert', 'gpt2'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type='relative_key' is not supported"),
        ({"is_decoder": True}, "is_decoder=True is not supported"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False is not supported"),
        ({"hidden_act": "quick_gelu"}, "unknown activation 'quick_gelu'"),
        ({"hidden_size": None}, r"lacks \['hidden_size'\]"),
        ({"num_attention_heads": None, "max_position_embeddings": None}, "lacks.*num_attention_heads.*max_position"),
    ],
)
def test_what_is_not_supported_is_an_error(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        read_config(write(tmp_path, **changes))


def test_a_missing_or_broken_file(tmp_path):
    with pytest.raises(ValueError, match=r"there is no config\.json in"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="is no JSON"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    ("config", "architecture", "problem", "message"),
    [
        (CONFIG.replace(gated=True, num_kv_heads=2), "BertModel", None, r"no place.*\['num_kv_heads', 'gated'\]"),
        (CONFIG.replace(tie_embeddings=False), "BertModel", None, r"no place.*\['tie_embeddings'\]"),
        (CONFIG.replace(activation="mish"), "BertModel", None, r"no place.*\['activation'\]"),
        (CONFIG.replace(family="mamba"), "MambaModel", None, "unknown model family 'mamba'"),
        (CONFIG, "BertForSummaries", None, "architecture must be one of .*received 'BertForSummaries'"),
        (CONFIG, "BertModel", "ranking", "problem must be one of .*received 'ranking'"),
    ],
)
def test_what_the_format_cannot_say_is_an_error(config, architecture, problem, message):
    with pytest.raises(ValueError, match=message):
        make_config(config, architecture, None, problem)
