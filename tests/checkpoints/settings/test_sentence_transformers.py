"""The files of sentence-transformers: what they say that is not done, and what is damaged."""

from __future__ import annotations

import json

import pytest

from keras_transformers.checkpoints.settings.sentence_transformers import (
    read_sentence_transformer,
    write_sentence_transformer,
)
from keras_transformers.text.tokenizer import Tokenizer


@pytest.fixture
def folder(tmp_path):
    write_sentence_transformer(tmp_path, 8, 16, pooling="mean", normalize=True)
    return tmp_path


def change(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("lowercase", [True, False])
def test_texts_that_are_to_be_lowered(folder, lowercase):
    """By sentence-transformers, not by the tokenizer: here nobody would."""
    Tokenizer.train(["a fine film", "A fine Film"], vocabulary_size=60, lowercase=lowercase).save(folder)
    change(folder / "sentence_bert_config.json", do_lower_case=True)
    if lowercase:
        assert read_sentence_transformer(folder)["max_length"] == 16
    else:
        with pytest.raises(ValueError, match=r"sentence_bert_config\.json says do_lower_case.*or set do_lower_case"):
            read_sentence_transformer(folder)


@pytest.mark.parametrize("place", [None, 1])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_module_without_a_folder(folder, number, place):
    modules = json.loads((folder / "modules.json").read_text())
    modules[number]["path"] = place
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match=rf"modules\.json has the modules .* in \[.*{place}"):
        read_sentence_transformer(folder)


@pytest.mark.parametrize("mode", [3, True, ["max"], [["mean"]], {"mean": True}, ["mean", "cls"]])
def test_a_way_of_pooling_that_is_none(folder, mode):
    change(folder / "1_Pooling" / "config.json", pooling_mode=mode)
    with pytest.raises(ValueError, match=r"says pooling by .*: expected one of"):
        read_sentence_transformer(folder)


@pytest.mark.parametrize(("mode", "pooling"), [("cls", "first"), (["mean"], "mean"), (None, "mean")])
def test_ways_of_pooling(folder, mode, pooling):
    change(folder / "1_Pooling" / "config.json", pooling_mode=mode)
    assert read_sentence_transformer(folder)["pooling"] == pooling
