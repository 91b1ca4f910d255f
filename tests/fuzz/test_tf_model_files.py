"""Hostile tf_model.h5 files, and indexes of their shards. A crash of the HDF5 library would end this process."""

from __future__ import annotations

import io
import json
import re

import h5py
import numpy as np
import pytest
from fuzzing import fuzz
from hostile import damaged, json_files
from hypothesis import strategies as st
from tf_layout import write_h5, write_h5_shards

from keras_transformers.checkpoints.formats.transformers_tf import FILE, INDEX, read_weights

MODEL = "tf_bert_for_masked_lm"
NAMES = ("bert/embeddings/word_embeddings/weight:0", "bert/encoder/layer_._0/output/dense/kernel:0",
         "bert/encoder/layer_._0/output/dense/bias:0", "mlm___cls/predictions/bias:0")  # fmt: skip
WEIGHTS = {f"{MODEL}/{name}": np.full((2, 3) if "s" in name[-10:] else (3,), 0.5, "float32") for name in NAMES}
LONG = "a" * 3000
PARTS = (
    "bert",
    "..",
    ".",
    "shared",
    "mlm___cls",
    "_._",
    "___",
    "kernel:0",
    "bias:0",
    ":0",
    "weight:0",
    "é",
    "a" * 3000,
)
DTYPES = ("float16", "float32", "float64", ">f4", "int8", "uint64", "S3", "complex64", "bool", "V2", "O")
SHAPES = ((), (0,), (1,), (3,), (1, 3), (2, 3), (2, 3, 4), (10**9,), (10**9, 10**9), (2**62,))


def read_all(folder):
    for tensor in read_weights(folder):
        assert not tensor.is_weight or tensor.read().shape == tensor.shape


@pytest.mark.integration
def test_bytes_of_an_hdf5_file(tmp_path):
    write_h5(tmp_path, WEIGHTS)
    content = (tmp_path / FILE).read_bytes()

    def read_damaged_hdf5(content):
        (tmp_path / FILE).unlink(missing_ok=True)  # which may still be open
        (tmp_path / FILE).write_bytes(content)
        read_all(tmp_path)

    fuzz(read_damaged_hdf5, st.just(content) | damaged(content), examples=200)


@st.composite
def data_sets(draw):
    """The path and the options of a data set, mostly odd ones."""
    path = "/".join(draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=5)))
    options = {"dtype": draw(st.sampled_from(DTYPES)), "shape": draw(st.sampled_from(SHAPES))}
    if draw(st.booleans()) and options["shape"] and 0 not in options["shape"]:
        options |= draw(st.sampled_from([{"chunks": True}, {"compression": "gzip"}, {"external": "/etc/passwd"}]))
    return path, options, draw(st.booleans())


def add(file: h5py.File, path: str, options: dict, is_written: bool) -> None:
    if options["dtype"] == "O":
        options = options | {"dtype": h5py.string_dtype()}
    if isinstance(options.get("external"), str):
        options = options | {"external": [(options["external"], 0, 100)]}
    try:
        made = file.create_dataset(path, **options)
        if is_written and made.size and made.size < 100 and not made.external:
            made[...] = np.zeros(made.shape, made.dtype if made.dtype.kind != "O" else "S1")
    except (ValueError, OSError, TypeError, RuntimeError):  # what no file can hold
        pass


@pytest.mark.integration
def test_structures_of_an_hdf5_file(tmp_path):
    write_h5(tmp_path, WEIGHTS)
    content = (tmp_path / FILE).read_bytes()

    def read_odd_data_sets(made):
        buffer = io.BytesIO(content)
        with h5py.File(buffer, "a") as file:
            for one in made:
                add(file, *one)
            if len(made) > 2:
                file["bert/again"] = file["/"]  # a group that holds itself
                file["bert/lost"] = h5py.SoftLink("/nowhere")
                file["bert/out"] = h5py.ExternalLink("/etc/passwd", "/")
        (tmp_path / FILE).unlink()
        (tmp_path / FILE).write_bytes(buffer.getvalue())
        read_all(tmp_path)

    fuzz(read_odd_data_sets, st.lists(data_sets(), max_size=4), examples=200)


@pytest.mark.integration
def test_an_index_of_hdf5_shards(tmp_path):
    write_h5_shards(tmp_path, WEIGHTS)
    index = json.loads((tmp_path / INDEX).read_text())
    assert all(re.fullmatch(r"tf_model-0000\d-of-00003\.h5", shard) for shard in index["weight_map"].values())

    def read_hdf5_index(content):
        (tmp_path / INDEX).write_bytes(content)
        read_all(tmp_path)

    fuzz(read_hdf5_index, json_files(index) | st.just(json.dumps(index).encode()), examples=200)
