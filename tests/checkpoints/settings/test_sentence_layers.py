"""The modules behind the pooling of sentence-transformers: all that is written is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformers.checkpoints.settings.sentence_folder import write_sentence_transformer
from keras_transformers.checkpoints.settings.sentence_transformers import read_sentence_transformer

LAYERS = [
    {"layer": "normalize"}, {"units": 4, "activation": "tanh", "use_bias": False}, {"layer": "layer_norm"},
    {"layer": "dropout", "rate": 0.25}, {"units": 3, "activation": "linear", "use_bias": True},
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    write_sentence_transformer(tmp_path, 8, 16, pooling=["mean", "max"], dense=LAYERS)
    return tmp_path


def change(path: Path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_all_that_is_written_is_read(folder):
    read = read_sentence_transformer(folder, 8)
    assert (read["dense"], read["normalize"]) == (LAYERS, True)
    types = [module["type"].rpartition(".")[2] for module in json.loads((folder / "modules.json").read_text())]
    behind = ["Normalize", "Dense", "LayerNorm", "Dropout", "Dense", "Normalize"]
    assert types == ["Transformer", "Pooling", *behind]
    assert json.loads((folder / "4_LayerNorm" / "config.json").read_text()) == {"dimension": 4}


def test_a_scaling_before_the_last_module_is_a_layer(tmp_path):
    write_sentence_transformer(tmp_path, 8, 16, dense=[{"layer": "normalize"}], normalize=True)
    read = read_sentence_transformer(tmp_path)
    assert (read["dense"], read["normalize"]) == ([{"layer": "normalize"}], True)


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("3_Dense", {"in_features": 8}, r"3_Dense.config\.json takes vectors of 8 numbers, and receives 16"),
        ("4_LayerNorm", {"dimension": 5}, r"4_LayerNorm.config\.json takes vectors of 5 numbers, and receives 4"),
        ("4_LayerNorm", {"dimension": 0}, "dimension must be a number above 0: received 0"),
        ("4_LayerNorm", {"dimension": None}, "dimension must be a number above 0: received None"),
        ("4_LayerNorm", {"dimension": "4"}, "dimension must be a int: received '4'"),
        ("5_Dropout", {"dropout": 1.0}, r"5_Dropout.config\.json: dropout must be a number from 0 to below 1"),
        ("5_Dropout", {"dropout": -0.1}, "received -0.1"), ("5_Dropout", {"dropout": "x"}, "dropout must be a number"),
        ("6_Dense", {"module_output_name": "scores"}, "says module_output_name 'scores': the last module has to give|"
                                                      "says module_input_name 'sentence_embedding': only 'scores'"),
        ("6_Dense", {"module_input_name": "token_embeddings"}, "'token_embeddings': only 'sentence_embedding'"),
        ("6_Dense", {"use_residual": True}, "says use_residual True: only False is supported"),
    ],
)  # fmt: skip
def test_what_is_refused(folder, file, values, message):
    change(folder / file / "config.json", **values)
    with pytest.raises(ValueError, match=message):
        read_sentence_transformer(folder, 8)


@pytest.mark.parametrize("name", ["3_Dense", "4_LayerNorm", "5_Dropout"])
def test_settings_that_are_missing(folder, name):
    (folder / name / "config.json").unlink()
    with pytest.raises(ValueError, match=rf"no config\.json in .*{name}: expected"):
        read_sentence_transformer(folder, 8)


def test_a_scaling_of_something_else(folder):
    (folder / "2_Normalize" / "config.json").write_text('{"module_input_name": "token_embeddings"}')
    with pytest.raises(ValueError, match=r"2_Normalize.config\.json says module_input_name 'token_embeddings': only"):
        read_sentence_transformer(folder, 8)
