"""Files that are written tensor by tensor are what the safetensors library reads."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
import safetensors
import safetensors.numpy
from processes import run

from keras_transformers.checkpoints.files import tensors as stored
from keras_transformers.checkpoints.files.safetensors_file import write_tensors
from keras_transformers.checkpoints.files.tensors import FLOATS, Tensor, read_tensors

VALUES = np.array([[0, -0.0, 1.5], [-2, 0.25, 448]], "float32")  # 448: the largest of float8_e4m3fn


def tensor(array, dtype=None, name="x"):
    return Tensor(name, np.shape(array), np.dtype(dtype or array.dtype).name, lambda: array)


def header(path):
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), 8 + size, len(content)


@pytest.mark.parametrize("dtype", FLOATS.values())
def test_every_dtype(tmp_path, dtype):
    array = VALUES.astype(dtype)
    path = tmp_path / "model.safetensors"
    write_tensors(path, {"x": tensor(VALUES, dtype)})
    (back,) = read_tensors(tmp_path)
    assert (back.name, back.shape, back.dtype) == ("x", (2, 3), dtype)
    assert back.read().tobytes() == array.tobytes()
    (name, read), *more = safetensors.deserialize(path.read_bytes())
    assert (name, read["shape"], bytes(read["data"]), more) == ("x", [2, 3], array.tobytes(), [])
    if dtype in ("float16", "float32", "float64"):
        assert np.array_equal(safetensors.numpy.load_file(path)["x"], array)


SHAPES = {"a": (3,), "b": (), "c": (0, 5), "d": (2, 3, 4), "e": (5, 1), "empty": (0,)}


def test_shapes_and_layouts(tmp_path):
    random, path = np.random.default_rng(0), tmp_path / "model.safetensors"
    arrays = {name: random.normal(size=shape).astype("float32") for name, shape in SHAPES.items()}
    arrays |= {"columns": arrays["d"].T, "rows": arrays["d"][::-1, ::2], "big": arrays["a"].astype(">f4")}
    arrays["read only"] = np.broadcast_to(np.float32(2), (2, 2))
    write_tensors(path, {name: tensor(array, "float32") for name, array in arrays.items()})
    read = safetensors.numpy.load_file(path)
    assert {name: array.shape for name, array in read.items()} == {key: array.shape for key, array in arrays.items()}
    assert all(np.array_equal(read[name], array) for name, array in arrays.items())


def test_nothing_to_write(tmp_path):
    write_tensors(tmp_path / "model.safetensors", {})
    assert safetensors.numpy.load_file(tmp_path / "model.safetensors") == {}


@pytest.mark.parametrize("number", range(8))
def test_tensors_are_aligned_and_in_order(tmp_path, number):
    """safetensors itself writes the widest dtype first, then by name."""
    dtypes = ["float8_e4m3fn", "float16", "float64", "bfloat16", "float32"]
    shapes = {f"{'n' * number}{index}": (2 * index + 1, 3) for index in range(5)}
    tensors = {name: tensor(np.ones(shape), dtype) for (name, shape), dtype in zip(shapes.items(), dtypes, strict=True)}
    write_tensors(tmp_path / "model.safetensors", tensors)
    entries, begin, size = header(tmp_path / "model.safetensors")
    assert entries.pop("__metadata__") == {"format": "pt"}
    assert begin % 8 == 0
    ends = [0]
    for name, entry in entries.items():
        start, end = entry["data_offsets"]
        assert start == ends[-1] and start % np.dtype(tensors[name].dtype).itemsize == 0
        ends.append(end)
    assert begin + ends[-1] == size
    widths = {name: np.dtype(tensors[name].dtype).itemsize for name in entries}
    assert list(entries) == sorted(entries, key=lambda name: (-widths[name], name))


def test_blocks_of_a_large_tensor(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "BLOCK", 7)
    random = np.random.default_rng(0)
    arrays = {str(shape): random.normal(size=shape) for shape in [(), (1, 50), (50,), (9, 4), (3, 5, 4), (0, 9)]}
    arrays["columns"] = arrays["(9, 4)"].T
    write_tensors(tmp_path / "x", {name: tensor(array, "float16") for name, array in arrays.items()})
    read = safetensors.numpy.load_file(tmp_path / "x")
    assert all(np.array_equal(read[name], array.astype("float16")) for name, array in arrays.items())
    arrays["columns"][3, 8] = np.nan  # in the last block
    with pytest.raises(ValueError, match="not finite"):
        write_tensors(tmp_path / "x", {"x": tensor(arrays["columns"], "float16")})


@pytest.mark.parametrize("name", ['a"b', "a\\b", "ä▁字", "\U0001f600", "a b\n", "__metadata", "../x", ""])
def test_any_name(tmp_path, name):
    write_tensors(tmp_path / "model.safetensors", {name: tensor(VALUES), "x": tensor(VALUES + 1)})
    read = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    assert np.array_equal(read[name], VALUES) and np.array_equal(read["x"], VALUES + 1)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(np.nan, "float32"), (np.inf, "float32"), (-np.inf, "float64"), (70000, "float16"), (1e39, "bfloat16"),
     (1e39, "float32"), (500, "float8_e4m3fn"), (np.nan, "float8_e4m3fn")],
)  # fmt: skip
def test_what_is_not_finite_is_refused_by_name(tmp_path, recwarn, value, dtype):
    array = np.array([1, value])
    with pytest.raises(ValueError, match=rf"the weight encoder\.x is not finite as {dtype}: it was not saved"):
        write_tensors(tmp_path / "model.safetensors", {"y": tensor(array, dtype, name="encoder.x")})
    assert not recwarn.list


def test_the_largest_numbers_are_kept(tmp_path):
    for dtype in ("float16", "bfloat16", "float32", "float8_e4m3fn"):
        most = np.array([ml_dtypes.finfo(dtype).max], dtype)
        write_tensors(tmp_path / "model.safetensors", {"x": tensor(most)})
        assert read_tensors(tmp_path)[0].read() == most


PEAK = """
import resource, sys
import numpy as np
from pathlib import Path
from keras_transformers.checkpoints.files.safetensors_file import write_tensors
from keras_transformers.checkpoints.files.tensors import Tensor

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

SHAPE = (1024, 8192)  # 32 MB in float32
def named(name, dtype):
    return Tensor(name, SHAPE, dtype, lambda: np.full(SHAPE, len(name), "float32"))

write_tensors(Path(sys.argv[2], "small"), {"x": Tensor("x", (2,), "float16", lambda: np.ones(2, "float32"))})
before = peak()
write_tensors(Path(sys.argv[2], "large"), {"x" * (1 + n): named("x" * (1 + n), sys.argv[3]) for n in range(8)})
print(peak() - before)
"""


@pytest.mark.integration
@pytest.mark.parametrize(("dtype", "most"), [("float32", 1.5), ("bfloat16", 1.5)])
def test_one_tensor_at_a_time_is_in_memory(tmp_path, dtype, most):
    grown = int(run(PEAK, str(tmp_path), dtype).splitlines()[-1])
    assert grown < most * 2**25
    with safetensors.safe_open(tmp_path / "large", "numpy") as file:
        assert [file.get_slice(name).get_shape() for name in sorted(file.keys())] == [[1024, 8192]] * 8
        assert (file.get_tensor("xxx") == 3).all()


SAVE = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import keras
from pathlib import Path
import tiny
from keras_transformers.tasks import Task

def now():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

tiny.classifier().save(sys.argv[2] + "/first")
sizes = {"hidden_dim": 1024, "intermediate_dim": 8192, "num_layers": 4}  # kernels of 32 MB, 8 of them
task = Task("masked_lm", tiny.config(**sizes), tiny.tokenizer())
before = now()
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
task.save(sys.argv[2] + "/large")
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) * 1024 - before)
"""


@pytest.mark.slow
def test_a_task_is_saved_with_one_tensor_more_in_memory(tmp_path):
    grown = int(run(SAVE, str(tmp_path)).splitlines()[-1])
    assert grown < 1.5 * 2**25, f"{grown / 2**25:.1f} tensors of 32 MB"
