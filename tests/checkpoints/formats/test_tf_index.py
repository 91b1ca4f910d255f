"""An index is refused before TensorFlow sees it: with most of these it ends the process."""

from __future__ import annotations

import pytest
from tensorflow.core.protobuf import tensor_bundle_pb2
from tf_folders import write_variables
from tf_tables import entry, write_index

from keras_transformers.checkpoints.formats.tf_checkpoint import load_checkpoint
from keras_transformers.checkpoints.formats.tf_index import read_index, read_string


def unknown_rank():
    made = entry()
    made.shape.unknown_rank = True
    return made


def sliced():
    made = entry(2, 2)
    made.slices.add().extent.add(start=-3, length=99)
    return made


HOSTILE = {
    "negative": (entry(-5, 2), "no variable has"),
    "overflow": (entry(2**40, 2**40), "no memory holds"),
    "large with nothing": (entry(0, 2**62, 2**62), "no memory holds"),
    "rank": (entry(*[1] * 300), "no variable has"),
    "unknown rank": (unknown_rank(), "no variable has"),
    "sliced": (sliced(), "slices"),
    "reference": (entry(2, 2, dtype=101), "dtype 101"),
    "no dtype": (entry(2, 2, dtype=0), "dtype 0"),
    "dtype": (entry(2, 2, dtype=99), "dtype 99"),
    "shard": (entry(2, 2, shard_id=9), "none of its files"),
    "negative size": (entry(2, 2, size=-1), "none of its files"),
    "negative offset": (entry(2, 2, offset=-16), "none of its files"),
    "no entry": (b"\xff\xff\xff\x01", "damaged"),
    "10^9 rows": (entry(10**9, 768, size=10**9 * 768 * 4), "cut short"),
    "size of another shape": (entry(2, 2, size=8), "cut short"),
    "behind the end": (entry(2, 2, offset=64), "cut short"),
}


def checkpoint(folder, **entries):
    write_index(folder / "model.ckpt.index", entries)
    (folder / "model.ckpt.data-00000-of-00001").write_bytes(bytes(64))
    return folder / "model.ckpt"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_entry_is_refused(tmp_path, name):
    made, message = HOSTILE[name]
    with pytest.raises(ValueError, match=message):
        load_checkpoint(checkpoint(tmp_path, a=made))


def test_an_index_of_ours_is_read_by_tensorflow(tmp_path):
    reader = load_checkpoint(checkpoint(tmp_path, a=entry(2, 2), b=entry(4, offset=16)))
    assert reader.get_variable_to_shape_map() == {"a": [2, 2], "b": [4]}


def test_an_index_of_tensorflow_is_read(tmp_path):
    names = [f"layer_{index}/kernel" for index in range(40)]
    write_variables(tmp_path / "model.ckpt", {name: [[1.0, 2.0]] for name in names} | {"text": b"some text"})
    entries = read_index(tmp_path / "model.ckpt.index")
    assert sorted(entries) == sorted([*names, "text"])
    assert all([dim.size for dim in entries[name].shape.dim] == [1, 2] for name in names)
    assert read_string(tmp_path / "model.ckpt", "text") == b"some text"


@pytest.mark.parametrize("cut", [0, 3, 20, 60])
def test_a_damaged_index(tmp_path, cut):
    write_variables(tmp_path / "model.ckpt", {"a": [1.0]})
    path = tmp_path / "model.ckpt.index"
    path.write_bytes(path.read_bytes()[:-cut] if cut else b"")
    with pytest.raises(ValueError, match="damaged"):
        read_index(path)


def test_a_compressed_index(tmp_path):
    path = checkpoint(tmp_path, a=entry(2, 2)).with_name("model.ckpt.index")
    content = bytearray(path.read_bytes())
    data = content.index(tensor_bundle_pb2.BundleEntryProto(dtype=1).SerializeToString())
    end = content.index(b"\0\0\0\0\1\0\0\0", data) + 8
    content[end] = 1
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="compressed"):
        read_index(path)


@pytest.mark.parametrize("content", [b"\xff" * 9 + b"\x7f" + bytes(6), b"\x40" + bytes(15), b""])
def test_a_string_of_a_length_that_is_not_there(tmp_path, content):
    write_index(tmp_path / "model.ckpt.index", {"text": entry(dtype=7, size=16)})
    (tmp_path / "model.ckpt.data-00000-of-00001").write_bytes(content)
    with pytest.raises(ValueError, match="cut short"):
        read_string(tmp_path / "model.ckpt", "text")


def test_a_string_that_is_none(tmp_path):
    with pytest.raises(ValueError, match="no record"):
        read_string(checkpoint(tmp_path, a=entry(2, 2)), "a")
