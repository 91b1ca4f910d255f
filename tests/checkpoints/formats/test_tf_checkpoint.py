from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import processes
import pytest
import tensorflow as tf
from tf_folders import bert_variables, google_bert, slots, write_objects, write_variables

from keras_transformers.checkpoints.formats.tf_checkpoint import (
    find_prefix,
    load_checkpoint,
    object_graph,
    read_variables,
)

ONE = np.ones((2, 3), "float32")


def read(prefix):
    return read_variables(prefix, load_checkpoint(prefix))


def in_two_files(folder):
    parts = [str(folder / name) for name in ("first", "second")]
    for number, part in enumerate(parts):
        write_variables(folder / part, {f"part_{number}": ONE * number})
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=str(folder / "model.ckpt"))
    return folder / "model.ckpt"


def test_dtypes_and_values(tmp_path):
    arrays = {"a/kernel": ONE, "half": ONE.astype("float16"), "double": ONE.astype("float64"), "ids": np.arange(3)}
    write_variables(tmp_path / "model.ckpt", arrays | {"brain": tf.constant(ONE, "bfloat16")})
    tensors = read(tmp_path / "model.ckpt")
    assert {name: tensor.dtype for name, tensor in tensors.items()} == {
        "a/kernel": "float32", "half": "float16", "double": "float64", "ids": "int64", "brain": "bfloat16",
    }  # fmt: skip
    assert [name for name, tensor in tensors.items() if not tensor.is_weight] == ["ids"]
    for name, array in arrays.items():
        np.testing.assert_array_equal(tensors[name].read(), array)


def test_what_is_of_training_is_left_out(tmp_path):
    variables = {"a/kernel": ONE, "a/bias": ONE}
    others = {"a/kernel/LAMB": ONE, "a/bias/Adam_1": ONE, "beta1_power": ONE, "optimizer/iter": ONE}
    write_variables(tmp_path / "model.ckpt", variables | slots(variables) | others)
    assert read(tmp_path / "model.ckpt").keys() == variables.keys()


def test_several_data_files(tmp_path):
    prefix = in_two_files(tmp_path)
    assert read(find_prefix(prefix))["part_1"].read().tolist() == ONE.tolist()
    prefix.with_name("model.ckpt.data-00001-of-00002").unlink()
    with pytest.raises(ValueError, match=r"needs files that are not there: \['model.ckpt.data-00001-of-00002'\]"):
        find_prefix(prefix)


def test_a_pointer_in_place_of_a_file(tmp_path):
    write_variables(tmp_path / "model.ckpt", {"a": ONE})
    (tmp_path / "model.ckpt.data-00000-of-00001").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ValueError, match="git lfs"):
        find_prefix(tmp_path)


@pytest.mark.parametrize("numbers", ["00000-of-00000", "0x-of-00001", "00000-of-1x00001", "00000-of-00001.tmp"])
@pytest.mark.parametrize("make", [os.mkfifo, Path.touch], ids=["pipe", "empty"])
def test_files_whose_names_are_almost_those_of_the_data_are_not_opened(tmp_path, numbers, make):
    write_variables(tmp_path / "model.ckpt", {"a": ONE})
    make(tmp_path / f"model.ckpt.data-{numbers}")
    assert read(find_prefix(tmp_path))["a"].read().tolist() == ONE.tolist()


def test_a_pipe_in_place_of_the_data(tmp_path):
    write_variables(tmp_path / "model.ckpt", {"a": ONE})
    (tmp_path / "model.ckpt.data-00000-of-00001").unlink()
    os.mkfifo(tmp_path / "model.ckpt.data-00000-of-00001")
    with pytest.raises(ValueError, match="needs files that are not there"):
        find_prefix(tmp_path)


def test_a_name_that_no_file_can_have(tmp_path):
    write_variables(tmp_path / "model.ckpt", {"a": ONE})
    (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "{"a" * 5000}"')
    with pytest.raises(ValueError, match=r"which is not there: there are \['model.ckpt'\]"):
        find_prefix(tmp_path)


def test_letters_that_are_patterns_elsewhere(tmp_path):
    prefix = tmp_path / "model[1]*.ckpt"
    write_variables(prefix, {"a": ONE})
    assert find_prefix(tmp_path) == prefix


def test_names_of_objects(tmp_path):
    write_objects(tmp_path / "ckpt-1", {"dense/kernel": ONE})
    reader = load_checkpoint(tmp_path / "ckpt-1")
    nodes = object_graph(tmp_path / "ckpt-1", reader).nodes
    assert [entry.full_name for node in nodes for entry in node.attributes] == ["dense/kernel"]
    write_variables(tmp_path / "model.ckpt", {"dense/kernel": ONE})
    with pytest.raises(ValueError, match="no record of its objects"):
        object_graph(tmp_path / "model.ckpt", load_checkpoint(tmp_path / "model.ckpt"))


def test_values_that_are_damaged(tmp_path):
    write_variables(tmp_path / "model.ckpt", {"a": ONE})
    (tmp_path / "model.ckpt.data-00000-of-00001").write_bytes(bytes(ONE.nbytes))
    tensor = read(tmp_path / "model.ckpt")["a"]
    with pytest.raises(ValueError, match="damaged or incomplete"):
        tensor.read()


@pytest.mark.parity
def test_without_tensorflow(tmp_path):
    script = "import zoo\ntry:\n    zoo.load(sys.argv[2])\nexcept ValueError as error:\n    print(error)"
    said = processes.run_on_jax(script, str(google_bert(tmp_path, bert_variables())))
    assert "is a TensorFlow checkpoint, and to read it takes TensorFlow: pip install tensorflow" in said
