"""Presets whose HDF5 files are not what Keras writes: nothing outside is read, nothing is half loaded."""

from __future__ import annotations

import json
import shutil

import h5py
import ml_dtypes
import numpy as np
import pytest

from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.loading import load_weights
from keras_transformers.checkpoints.names.keras_hub import PLACES, PRESETS
from keras_transformers.checkpoints.names.table import look_up

NAME = "layers/layer_normalization/vars/0"
THEIRS = "bert.embeddings.LayerNorm.weight"
SHAPE = (32,)
SIZES = {"vocabulary_size": 90, "num_layers": 1, "num_heads": 4, "hidden_dim": 32, "intermediate_dim": 128}
OTHERS = {"dropout": 0.1, "max_sequence_length": 24, "num_segments": 2}
CONFIG = {"class_name": "BertBackbone", "config": SIZES | OTHERS}


def heads_apart(name, array):
    """As KerasHub keeps queries, keys and values."""
    if "_self_attention_layer/" not in name:
        return array
    if array.ndim == 1:
        return array if "output_dense" in name else array.reshape(4, 8)
    return array.reshape((4, 8, 32) if "output_dense" in name else (32, 4, 8))


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    """The folder of a preset, as KerasHub writes it."""
    folder = tmp_path_factory.mktemp("preset")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


@pytest.fixture
def damaged(preset, ours, tmp_path):
    """A model, a copy of the preset whose weights are all ones, and its file, open."""
    model = ours.build(find_stored(preset).config, "BertModel")
    folder = shutil.copytree(preset, tmp_path / "copy")
    with h5py.File(folder / "model.weights.h5", "w") as file:
        for weight in model.weights:
            name = look_up(weight.path, PRESETS["BertBackbone"].weights, PLACES)
            file[name] = heads_apart(name, np.ones(weight.shape, "float32"))
        yield model, folder, file


def values(model):
    return [np.array(weight) for weight in model.weights]


def refused(model, folder, file, message):
    file.close()
    before = values(model)
    with pytest.raises(ValueError, match=message):
        load_weights(model, folder)
    assert all(np.array_equal(old, new) for old, new in zip(before, values(model), strict=True))


def replace(file, **options):
    del file[NAME]
    return file.create_dataset(NAME, **options)


def test_a_whole_preset(damaged):
    model, folder, file = damaged
    file.close()
    assert load_weights(model, folder) == ()
    assert all((array == 1).all() for array in values(model))


def test_bytes_of_another_file_are_not_read(damaged, tmp_path):
    model, folder, file = damaged
    (tmp_path / "secret").write_bytes(bytes(4 * 32))
    replace(file, shape=SHAPE, dtype="float32", external=[(str(tmp_path / "secret"), 0, 4 * 32)])
    refused(model, folder, file, rf"model\.weights\.h5.*{NAME}.*in another file")


def test_a_virtual_data_set_is_refused(damaged, tmp_path):
    model, folder, file = damaged
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.zeros(SHAPE, "float32")
    layout = h5py.VirtualLayout(SHAPE, "float32")
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "secret", SHAPE)
    del file[NAME]
    file.create_virtual_dataset(NAME, layout)
    refused(model, folder, file, rf"model\.weights\.h5.*{NAME}.*in another file")


@pytest.mark.parametrize("kind", ["external", "soft"])
def test_links_are_not_followed(damaged, tmp_path, kind):
    model, folder, file = damaged
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.zeros(SHAPE, "float32")
    del file[NAME]
    file[NAME] = h5py.ExternalLink(str(tmp_path / "other.h5"), "secret") if kind == "external" else h5py.SoftLink("/x")
    refused(model, folder, file, rf"missing:\n  {THEIRS}")


@pytest.mark.parametrize(
    "options",
    [
        {"data": np.ones(SHAPE, "float32"), "compression": "gzip"},
        {"data": np.ones(SHAPE, "float32"), "chunks": (8,)},
        {"shape": SHAPE, "dtype": "float32"},
    ],
    ids=["compressed", "chunked", "never written"],
)
def test_what_is_not_in_one_piece_is_refused(damaged, options):
    """Keras writes no such data sets; a small file of them can stand for a large one, or fail while it is read."""
    model, folder, file = damaged
    replace(file, **options)
    refused(model, folder, file, rf"{NAME}.*in one piece")


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool", "V2", "complex64"], ids=str)
def test_what_is_no_float_is_no_weight(damaged, dtype):
    model, folder, file = damaged
    replace(file, data=np.zeros(SHAPE, dtype))
    refused(model, folder, file, rf"not float16.*dequantized(.|\n)*  {THEIRS} is ")


def test_a_dtype_that_the_data_set_does_not_have(damaged):
    model, folder, file = damaged
    replace(file, data=np.zeros(SHAPE, "int32")).attrs["dtype"] = "bfloat16"
    refused(model, folder, file, rf"  {THEIRS} is int32")


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64", ">f4"])
def test_every_float_is(damaged, dtype):
    model, folder, file = damaged
    made = replace(file, data=np.full(SHAPE, 3, dtype))
    if dtype is ml_dtypes.bfloat16:
        made.attrs["dtype"] = "bfloat16"  # as Keras does
    file.close()
    load_weights(model, folder)
    assert (np.array(model.get_layer("embedding_norm").gamma) == 3).all()


@pytest.mark.parametrize("value", [h5py.Empty("float32"), np.float32(1)], ids=["nothing", "one number"])
@pytest.mark.parametrize("name", [NAME, "layers/transformer_encoder_0/_self_attention_layer/query_dense/vars/0"])
def test_what_has_no_axes_is_no_weight(damaged, name, value):
    model, folder, file = damaged
    del file[name]
    file.create_dataset(name, data=value)
    refused(model, folder, file, r"in one piece|of another shape")


def test_two_data_sets_for_one_weight(damaged):
    model, folder, file = damaged
    block = "layers/transformer_encoder{}/_feedforward_layer_norm/vars/0"
    file[block.format("")] = file[block.format("_0")][:] + 1
    refused(model, folder, file, "two tensors for one weight.*layer.0")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": None}, "config"),
        ({"config": {"num_layers": 1}}, "vocabulary_size"),
        ({"class_name": ["BertBackbone"]}, "expected one of"),
    ],
    ids=str,
)
def test_a_configuration_that_lacks_something(tmp_path, change, message):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | change))
    with pytest.raises(ValueError, match=rf"{message}"):
        find_stored(tmp_path)


@pytest.mark.parametrize("number", ["3", None, 0, 2.5, 10**12])
def test_a_number_of_classes_that_cannot_be(preset, tmp_path, number):
    folder = shutil.copytree(preset, tmp_path / "copy")
    (folder / "task.json").write_text(json.dumps({"class_name": "BertClassifier", "config": {"num_classes": number}}))
    (folder / "task.weights.h5").write_bytes(bytes(100))
    with pytest.raises(ValueError, match=rf"num_classes must be a number of classes.*received {number!r}"):
        find_stored(folder)
