"""Folders of tokenizer files: what is read of the configuration, and what is written there."""

from __future__ import annotations

import json

import pytest
import tokenizers
from tokenizers import models

from keras_transformers.text import bert, folder
from keras_transformers.text.tokenizer import Tokenizer


def config_of(path) -> dict:
    return json.loads((path / folder.CONFIG).read_text(encoding="utf-8"))


def test_special_tokens_are_written_by_their_roles(tmp_path):
    library = tokenizers.Tokenizer(models.WordLevel({"<pad>": 0, "</s>": 1, "<unk>": 2, "a": 3}, unk_token="<unk>"))
    library.add_special_tokens(["<pad>", "</s>"])
    library.add_tokens(["<unk>"])
    folder.write(tmp_path, library, {}, max_length=7)
    assert config_of(tmp_path) == {  # <unk> is no special token here
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "model_max_length": 7,
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokenizer.json", "tokenizer_config.json"]
    assert folder.read(tmp_path)[0].to_str() == library.to_str()


@pytest.mark.parametrize("length", [None, 1, 512, 1e30])
def test_the_greatest_length_comes_back(tmp_path, length):
    Tokenizer.train(["a cat"], 30).save(tmp_path, max_length=length)
    assert folder.read_max_length(tmp_path) == length
    assert folder.read_max_length(tmp_path / "nowhere") is None


@pytest.mark.parametrize("length", [0, -3, "512", True, [8]])
def test_a_length_that_is_none(tmp_path, length):
    (tmp_path / folder.CONFIG).write_text(json.dumps({"model_max_length": length}))
    with pytest.raises(ValueError, match=r"tokenizer_config\.json says model_max_length=.*or give max_length"):
        folder.read_max_length(tmp_path)


def test_one_tokenizer_for_both_sides(tmp_path):
    tokenizer = Tokenizer.train(["a cat"], 30)
    tokenizer.save(tmp_path)
    source, target = folder.read_pair(tmp_path)
    assert source is target and source[0].to_str() == tokenizers.Tokenizer.from_str(tokenizer.to_json()).to_str()


def test_two_tokenizers_that_are_no_marians(tmp_path):
    sides = Tokenizer.train(["a cat"], 30), Tokenizer.train(["ein Hund"], 40)
    Tokenizer.save_pair(tmp_path, *sides)
    assert (tmp_path / folder.TARGET).is_file() and not (tmp_path / "source.spm").exists()
    assert [side.to_json() for side in Tokenizer.pair_from_folder(tmp_path)] == [side.to_json() for side in sides]
    with pytest.raises(ValueError, match=r"two tokenizers, for source and target.*pair_from_folder"):
        folder.read(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_broken_configuration(tmp_path, content):
    (tmp_path / "vocab.txt").write_text("\n".join(bert.SPECIAL_TOKENS), encoding="utf-8")
    (tmp_path / folder.CONFIG).write_text(content)
    with pytest.raises(ValueError, match=r"tokenizer_config\.json.* JSON"):
        folder.read(tmp_path)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "wolfe"),
        ({"do_lower_case": False}, "Wölfe"),
        ({"do_lower_case": True, "strip_accents": False}, "wölfe"),
    ],
)
def test_folder_with_vocab_txt_obeys_its_config(tmp_path, config, expected):
    tokens = [*bert.SPECIAL_TOKENS, "wolfe", "Wölfe", "wölfe"]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    read = Tokenizer.from_folder(tmp_path)
    assert read.id_to_token(read.encode(["Wölfe"])[0].ids[1]) == expected


def test_options_of_another_type(tmp_path):
    """null is what an option is by default."""
    (tmp_path / "vocab.txt").write_text("\n".join(bert.SPECIAL_TOKENS), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": null, "tokenizer_class": null}')
    Tokenizer.from_folder(tmp_path)
    for key, value in (("do_lower_case", "yes"), ("tokenizer_class", 5), ("extra_ids", [1])):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({key: value}))
        with pytest.raises(ValueError, match=rf"tokenizer_config\.json: {key} must be a \w+: received"):
            Tokenizer.from_folder(tmp_path)
