"""Files of tensors with faults: what is wrong is said, and no variable changes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

from keras_transformers.checkpoints.files.tensors import read_tensors
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder

LAST = "pooler.dense.weight"  # of a plan in the model's order it is the last kernel
NORM = "embeddings.LayerNorm"
INDEX = "model.safetensors.index.json"
ARCHITECTURE = "BertModel"
STORED = {
    "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "int8": "I8", "bool": "BOOL",
    "int64": "I64", "uint8": "U8", "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip


@pytest.fixture
def saved(tmp_path, ours):
    """A model, and a folder of other weights for it."""
    config = ours.config.replace(num_layers=1)
    other = ours.build(config, ARCHITECTURE)
    ours.randomise(other)
    save_folder(tmp_path / "model", other, config, None, architecture=ARCHITECTURE)
    return ours.build(config, ARCHITECTURE), tmp_path / "model"


def edit(folder, change):
    """Change the tensors of a file: a dict of arrays."""
    path = folder / "model.safetensors"
    tensors = safetensors.numpy.load_file(path)
    change(tensors)
    write(path, tensors)


def write(path, tensors):
    """As `safetensors.numpy.save_file`, which does not know every dtype of the format."""
    header, data = {}, b""
    for name, array in tensors.items():
        content = np.ascontiguousarray(array).tobytes()
        places = [len(data), len(data) + len(content)]
        header[name] = {"dtype": STORED[array.dtype.name], "shape": array.shape, "data_offsets": places}
        data += content
    header = json.dumps(header).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


def refused(model, folder, message):
    """It is, and the model is as it was."""
    before = [np.array(weight) for weight in model.weights]
    with pytest.raises(ValueError, match=message):
        load_weights(model, folder)
    assert all(np.array_equal(old, new) for old, new in zip(before, model.weights, strict=True))


@pytest.mark.parametrize("dtype", ["int8", "bool", "int64", "uint8", "complex64", ml_dtypes.float8_e5m2])
def test_what_is_no_float_is_no_weight(saved, dtype):
    model, folder = saved
    stored = STORED[np.dtype(dtype).name]
    edit(folder, lambda tensors: tensors.update({LAST: tensors[LAST].astype(dtype)}))
    refused(model, folder, rf"not float16.*dequantized(.|\n)*  {LAST} is {stored}, for pooler/kernel \(32, 32\)")


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, "float16", ml_dtypes.bfloat16, "float32", "float64"])
def test_every_float_is(saved, dtype):
    model, folder = saved
    expected = safetensors.numpy.load_file(folder / "model.safetensors")[LAST].T.astype(dtype).astype("float32")
    edit(folder, lambda tensors: tensors.update({name: array.astype(dtype) for name, array in tensors.items()}))
    assert load_weights(model, folder) == ()
    assert (np.array(model.get_layer("pooler").kernel) == expected).all()


def test_values_are_mapped_wherever_they_begin(tmp_path):
    stored = {"a": np.arange(3, dtype="uint8"), "b": np.arange(6.0, dtype="float32").reshape(2, 3), "c": np.float16(2)}
    stored |= {"none": np.zeros((0, 4), "float32"), "half": np.arange(4).astype(ml_dtypes.bfloat16)}
    write(tmp_path / "model.safetensors", stored)
    data = (tmp_path / "model.safetensors").stat().st_size - sum(np.asarray(array).nbytes for array in stored.values())
    assert (data + stored["a"].nbytes) % 4  # the floats begin between two multiples of their size
    for tensor in read_tensors(tmp_path):
        assert tensor.read().dtype == stored[tensor.name].dtype and tensor.read().flags.aligned
        np.testing.assert_array_equal(tensor.read(), stored[tensor.name])
    whole = {"b": stored["b"]}
    safetensors.numpy.save_file(whole, tmp_path / "model.safetensors")
    (tensor,) = read_tensors(tmp_path)
    assert np.shares_memory(tensor.read(), tensor.read())


def test_scaled_8_bit_floats_are_refused(saved):
    model, folder = saved
    stored = {LAST: np.ones((32, 32), ml_dtypes.float8_e4m3fn), f"{LAST}_scale_inv": np.ones((1, 1), "float32")}
    edit(folder, lambda tensors: tensors.update(stored))
    refused(model, folder, rf"unexpected:\n  {LAST}_scale_inv$")


def test_integers_that_are_no_weights_may_stay(saved):
    model, folder = saved
    edit(folder, lambda tensors: tensors.update({"embeddings.position_ids": np.arange(24)[None]}))
    assert load_weights(model, folder) == ()


def test_an_unknown_bias_of_another_dtype_is_unexpected(saved):
    model, folder = saved
    zeros = np.zeros(3, ml_dtypes.float8_e5m2)
    edit(folder, lambda tensors: tensors.update({"encoder.other.bias": zeros}))
    refused(model, folder, r"unexpected:\n  encoder\.other\.bias$")


@pytest.mark.parametrize("other", [f"{NORM}.gamma", f"bert.{NORM}.weight"])
def test_two_tensors_for_one_weight(saved, other):
    model, folder = saved
    edit(folder, lambda tensors: tensors.update({other: tensors[f"{NORM}.weight"] + 1}))
    refused(model, folder, rf"two tensors for one weight.*({NORM}.*bert\.{NORM}|{NORM}\.(gamma|weight) and {NORM})")


def split(folder):
    """Two files and an index."""
    tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    places = {name: f"{'ab'[index % 2]}.safetensors" for index, name in enumerate(sorted(tensors))}
    for place in "ab":
        part = {name: array for name, array in tensors.items() if places[name] == f"{place}.safetensors"}
        safetensors.numpy.save_file(part, folder / f"{place}.safetensors")
    (folder / "model.safetensors").unlink()
    return tensors, places


def test_one_tensor_in_two_files(saved):
    model, folder = saved
    tensors, places = split(folder)
    (folder / INDEX).write_text(json.dumps({"weight_map": places}))
    other = {"a.safetensors": "b", "b.safetensors": "a"}[places[LAST]]
    part = safetensors.numpy.load_file(folder / f"{other}.safetensors") | {LAST: tensors[LAST] + 1}
    safetensors.numpy.save_file(part, folder / f"{other}.safetensors")
    refused(model, folder, rf"two tensors for one weight.*{LAST}")


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "expected a JSON object, received list"),
        ('{"metadata": {}}', "weight_map.*received None"),
        ('{"weight_map": ["a.safetensors"]}', "weight_map.*received a list"),
        ('{"weight_map": {"x": 3}}', "weight_map.*received 3 for x"),
        ('{"weight_map": {"x": null}}', "weight_map.*received None for x"),
        ('{"weight_map": {"x": "c.safetensors"}}', r"not there: \['c\.safetensors'\]"),
        ('{"weight_map": {"x": "../model/a.safetensors"}}', r"not there: \['\.\./model"),
        ('{"weight_map": {"x": ""}}', r"not there: \[''\]"),
        ('{"weight_map": {"x": "' + "a" * 999 + '"}}', "not there: "),
        ('{"weight_map": {"x": "a.safetensors"}}', r"do not hold: \['x'\]"),
    ],
    ids=lambda value: value[:40],
)
def test_a_bad_index(saved, index, message):
    model, folder = saved
    split(folder)
    (folder / INDEX).write_text(index)
    refused(model, folder, f"index\\.json.*{message}.*[Ff]etch ")


def test_a_tensor_in_another_file_than_the_index_says(saved):
    model, folder = saved
    _, places = split(folder)
    places[LAST] = {"a.safetensors": "b.safetensors", "b.safetensors": "a.safetensors"}[places[LAST]]
    (folder / INDEX).write_text(json.dumps({"weight_map": places}))
    refused(model, folder, rf"do not hold: \['{LAST}'\]")


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [32], "data_offsets": [0, 2**63]},
        {"dtype": "F32", "shape": [2**62, 8], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [64], "data_offsets": [0, 128]},
        {"dtype": "F32", "shape": [-32], "data_offsets": [0, 128]},
        {"dtype": "F32", "shape": [32], "data_offsets": [64, 192]},
    ],
    ids=str,
)
def test_sizes_that_do_not_fit_the_file(saved, entry):
    """The library checks them all."""
    model, folder = saved
    header = json.dumps({"pooler.dense.bias": entry}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(128))
    refused(model, folder, r"model\.safetensors is damaged or incomplete")


STANDS_FOR = {
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", "git lfs pull"),
    "page": (b"<!DOCTYPE html><html></html>", "is a web page"),
    "empty": (b"", "is (damaged or incomplete|empty)"),
    "text": (b'{"error": "Repository not found"}', "is damaged"),
}


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", INDEX, "pytorch_model.bin.index.json"])
@pytest.mark.parametrize("case", STANDS_FOR)
def test_what_is_no_file_of_weights(tmp_path, name, case):
    content, message = STANDS_FOR[case]
    (tmp_path / name).write_bytes(content)
    if name.endswith("json"):
        message = {"text": "weight_map must name a file", "empty": "is no JSON .it is empty"}.get(case, message)
    with pytest.raises(ValueError, match=rf"{name.replace('.', '[.]')} ?.*{message}"):
        read_tensors(tmp_path, pickled=True)


@pytest.mark.parametrize("pickled", [False, True])
def test_a_folder_without_weights(tmp_path, pickled):
    with pytest.raises(ValueError, match=r"no weights in .*: expected model.safetensors or .*index\.json\.$"):
        read_tensors(tmp_path, pickled)


@pytest.fixture
def old_shards(tmp_path):
    """A folder of two pickled files, made without torch, and an index."""
    for number, name in enumerate(("w", "v"), 1):
        path = tmp_path / f"pytorch_model-0000{number}-of-00002.bin"
        call = b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
        call += b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQK\x00(K\x02t(K\x01t\x89ccollections\nOrderedDict\n)RtR"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", b"\x80\x02}X\x01\x00\x00\x00" + name.encode() + call + b"s.")
            archive.writestr("archive/data/0", np.array([number, 0.5], "float32").tobytes())
    places = {name: f"pytorch_model-0000{number}-of-00002.bin" for number, name in enumerate(("w", "v"), 1)}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": places}))
    return tmp_path


def test_shards_of_the_old_format(old_shards):
    tensors = {tensor.name: tensor for tensor in read_tensors(old_shards, pickled=True)}
    assert {name: tensor.read().tolist() for name, tensor in tensors.items()} == {"w": [1, 0.5], "v": [2, 0.5]}
    with pytest.raises(ValueError, match=r"It holds pytorch_model\.bin\.index\.json, an old format.*pickled=True"):
        read_tensors(old_shards)
    (old_shards / "pytorch_model-00002-of-00002.bin").unlink()
    with pytest.raises(
        ValueError, match=r"bin\.index\.json names files.*not there: \['pytorch_model-00002-of-00002\.bin"
    ):
        read_tensors(old_shards, pickled=True)


@pytest.mark.parametrize("name", ["tf_model.h5", "model.fp16.safetensors", "pytorch_model-00001-of-00002.bin"])
def test_weights_that_are_not_read_are_named(tmp_path, name):
    for other in (name, "training_args.bin", "optimizer.pt", "config.json"):
        (tmp_path / other).write_bytes(b"x")
    with pytest.raises(ValueError, match=rf"It holds \['{name}'\], which is not read.*save_pretrained"):
        read_tensors(tmp_path, pickled=True)


def _resident(path) -> int:
    """Return the kB of a mapped file that are in the memory of this process."""
    lines, found = Path("/proc/self/smaps").read_text().splitlines(), 0
    for number, line in enumerate(lines):
        if line.endswith(str(path)):
            found += int(next(line for line in lines[number:] if line.startswith("Rss:")).split()[1])
    return found


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells the memory of a mapped file")
def test_released_values_leave_memory_and_can_be_read_again(tmp_path):
    safetensors.numpy.save_file({"x": np.ones((512, 1024), "float32")}, tmp_path / "model.safetensors")
    (found,) = read_tensors(tmp_path)
    assert found.read().sum() == 2**19
    before = _resident(tmp_path / "model.safetensors")
    found.release()
    assert before >= 2048 > 64 >= _resident(tmp_path / "model.safetensors")
    assert found.read().sum() == 2**19
