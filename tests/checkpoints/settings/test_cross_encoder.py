"""The settings of cross-encoders of sentence-transformers: all that is written is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformers.checkpoints.settings.cross_encoder import (
    is_cross_encoder,
    named_activation,
    read_cross_encoder,
)
from keras_transformers.checkpoints.settings.sentence_folder import write_sentence_transformer
from keras_transformers.checkpoints.settings.sentence_transformers import read_sentence_transformer

CONFIG = "config_sentence_transformers.json"
HEAD = [{"units": 6, "activation": "gelu", "use_bias": True}, {"layer": "layer_norm"},
        {"units": 1, "activation": "linear", "use_bias": True}]  # fmt: skip
PROMPTS = {"prompts": {"query": "q: "}, "default_prompt": "query"}
ONE = ("LABEL_0",)


@pytest.fixture
def plain(tmp_path):
    write_sentence_transformer(tmp_path, 8, 16, pooling=None, activation="sigmoid", **PROMPTS)
    return tmp_path


@pytest.fixture
def pooled(tmp_path):
    write_sentence_transformer(tmp_path, 8, 16, pooling="first", dense=HEAD, activation="linear", **PROMPTS)
    return tmp_path


def change(path: Path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_classifier_of_the_family(plain):
    assert is_cross_encoder(plain)
    read = read_cross_encoder(plain, {}, ONE, 8)
    expected = {"task": "ranking", "activation": "sigmoid", "pooling": None, "dense": [], "max_length": 16}
    expected |= {"score_tokens": None, "pair_template": None}
    assert read == {**expected, **PROMPTS, "labels": ONE, "problem": "multi_label"}
    several = read_cross_encoder(plain, {}, ("no", "yes"), 8)
    assert (several["task"], several["problem"]) == ("classification", "multi_label")
    with pytest.raises(ValueError, match="a Transformer without Pooling: expected"):
        read_sentence_transformer(plain)


def test_a_head_of_modules(pooled):
    read = read_cross_encoder(pooled, {}, None, 8)
    expected = {"task": "ranking", "activation": "linear", "pooling": "first", "dense": HEAD, "labels": ONE}
    assert {name: read[name] for name in expected} == expected
    change(pooled / "4_Dense" / "config.json", out_features=2)
    assert read_cross_encoder(pooled, {}, ("no", "yes"), 8)["labels"] == ("no", "yes")
    assert read_cross_encoder(pooled, {}, ONE, 8)["labels"] == ("LABEL_0", "LABEL_1")


SIGMOID, IDENTITY = "torch.nn.modules.activation.Sigmoid", "torch.nn.modules.linear.Identity"


@pytest.mark.parametrize(
    ("own", "values", "labels", "expected"),
    [
        (IDENTITY, {"sentence_transformers": {"activation_fn": SIGMOID}}, 1, "linear"),
        (None, {"sentence_transformers": {"activation_fn": IDENTITY}}, 1, "linear"),
        (None, {"sentence_transformers": {"version": "4.0"}}, 1, "sigmoid"),
        (None, {"sbert_ce_default_activation_function": IDENTITY}, 1, "linear"), (None, {}, 1, "sigmoid"),
        (None, {}, 3, "linear"), (SIGMOID, {}, 3, "sigmoid"),
    ],
)  # fmt: skip
def test_which_activation(plain, own, values, labels, expected):
    """The order of sentence-transformers: its own file, config.json, config.json of version 3, by the number."""
    change(plain / CONFIG, activation_fn=own)
    names = tuple(f"LABEL_{number}" for number in range(labels))
    assert read_cross_encoder(plain, values, names, 8)["activation"] == expected


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        (CONFIG, {"activation_fn": "torch.nn.modules.activation.Softmax"}, r"says .*Softmax.*\. Write \".*Identity\""),
        (CONFIG, {"activation_fn": "my.Sigmoid"}, r"says the activation 'my\.Sigmoid': expected one of .*Identity"),
        (CONFIG, {"activation_fn": ""}, "says the activation ''"), (CONFIG, {"activation_fn": 3}, "must be a str"),
        (CONFIG, {"default_prompt_name": "task"}, "'task': expected one of .*'query'"),
        ("sentence_bert_config.json", {"transformer_task": "text-generation"}, "'text-generation': only 'feature-ext"),
        ("1_Pooling/config.json", {"include_prompt": False}, "include_prompt false: in a CrossEnc"),
        ("4_Dense/config.json", {"module_output_name": "sentence_embedding"}, "the last module has to give 'scores'"),
        ("2_Dense/config.json", {"in_features": 9}, "takes vectors of 9 numbers, and receives 8"),
        ("2_Dense/config.json", {"module_output_name": "x"}, "says module_input_name|only 'x'"),
    ],
)  # fmt: skip
def test_what_is_refused(pooled, file, values, message):
    change(pooled / file, **values)
    with pytest.raises(ValueError, match=message):
        read_cross_encoder(pooled, {}, None, 8)


@pytest.mark.parametrize("tokens", [[7, 5], [7]])
def test_the_tokens_of_a_decoder(tmp_path, tokens):
    write_sentence_transformer(tmp_path, 8, 16, pooling=None, score_tokens=tokens, activation="sigmoid")
    read = read_cross_encoder(tmp_path, {}, None, 8)
    assert (read["score_tokens"], read["labels"], read["task"]) == (tokens, ONE, "ranking")
    for wrong in ({"true_token_id": None}, {"true_token_id": -1}, {"false_token_id": -2}):
        path = tmp_path / "1_LogitScore" / "config.json"
        kept = path.read_text()
        change(path, **wrong)
        with pytest.raises(ValueError, match=r"1_LogitScore.config\.json: true_token_id and false_token_id must be"):
            read_cross_encoder(tmp_path, {}, None, 8)
        path.write_text(kept)
    change(tmp_path / "sentence_bert_config.json", transformer_task="fill-mask")
    with pytest.raises(ValueError, match="transformer_task 'fill-mask': only 'text-generation'"):
        read_cross_encoder(tmp_path, {}, None, 8)


@pytest.mark.parametrize(("count", "message"), [(2, "no module gives 'scores'"), (4, "has to give 'scores'"),
                                               (1, r"expected the class \.\.\.ForSequenceClassification")])  # fmt: skip
def test_heads_that_are_none(pooled, count, message):
    modules = json.loads((pooled / "modules.json").read_text())
    (pooled / "modules.json").write_text(json.dumps(modules[:count]))
    with pytest.raises(ValueError, match=message):
        read_cross_encoder(pooled, {}, None, 8)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.ReLU"}}, r"my\.json says the .*ReLU"),
        ({"sentence_transformers": 5}, "sentence_transformers must be a dict"),
        ({"sentence_transformers": {"activation_fn": []}}, "activation_fn must be a str"),
        ({"sbert_ce_default_activation_function": 1}, "must be a str"),
    ],
)  # fmt: skip
def test_what_a_config_cannot_say(values, message):
    with pytest.raises(ValueError, match=message):
        named_activation(values, Path("my.json"))
