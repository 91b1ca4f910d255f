"""Tensors go to the variables that ask for them; if one does not fit, none goes anywhere."""

from __future__ import annotations

import re

import keras
import numpy as np
import pytest
from processes import run

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.weights.assign import SHOWN, assign


def tensor(name: str, array: np.ndarray) -> Tensor:
    return Tensor(name, array.shape, array.dtype.name, lambda: array)


def locate(path: str) -> tuple[str, bool]:
    """Kernels are stored transposed."""
    return path.replace("/", "."), path.endswith("kernel")


@pytest.fixture
def model() -> keras.Model:
    inputs = keras.Input((2,))
    hidden = keras.layers.Dense(3, name="body")(inputs)
    return keras.Model(inputs, keras.layers.Dense(4, name="head")(hidden))


@pytest.fixture
def tensors() -> dict[str, Tensor]:
    random = np.random.default_rng(0)
    shapes = {"body.kernel": (3, 2), "body.bias": (3,), "head.kernel": (4, 3), "head.bias": (4,)}
    return {name: tensor(name, random.normal(size=shape).astype("float16")) for name, shape in shapes.items()}


def test_all_weights_are_assigned_in_their_own_dtype(model, tensors):
    assert assign(model, tensors, locate) == ()
    for weight in model.weights:
        name, transposed = locate(weight.path)
        array = tensors[name].read()
        assert weight.dtype == "float32"
        np.testing.assert_array_equal(np.array(weight), array.T if transposed else array)


def test_weights_do_not_change_with_the_file(tmp_path, model):
    """JAX keeps an array whose memory is aligned, as that of a mapped file may be: it must be copied."""
    shapes, mapped = {"body.kernel": (3, 2), "body.bias": (3,), "head.kernel": (4, 3), "head.bias": (4,)}, {}
    for name, shape in shapes.items():
        path = tmp_path / name
        path.write_bytes(np.ones(shape, "float32").tobytes())
        mapped[name] = tensor(name, np.memmap(path, "float32", "r", shape=shape))
    assign(model, mapped, locate)
    for name, shape in shapes.items():
        with open(tmp_path / name, "r+b") as file:
            file.write(np.zeros(shape, "float32").tobytes())
    assert all((np.array(weight) == 1).all() for weight in model.weights)


def test_the_largest_is_read_first_and_the_memory_of_each_is_given_back_before_the_next(model, tensors):
    events = []

    def noted(name: str, stored: Tensor) -> Tensor:
        def read() -> np.ndarray:
            events.append(f"read {name}")
            return stored.read()

        return stored._replace(read=read, release=lambda: events.append(f"release {name}"))

    assign(model, {name: noted(name, stored) for name, stored in tensors.items()}, locate)
    names = ["head.kernel", "body.kernel", "head.bias", "body.bias"]
    assert events == [f"{event} {name}" for name in names for event in ("read", "release")]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn"])
@pytest.mark.parametrize("policy", ["bfloat16", "float32"])
def test_values_are_rounded_once_to_the_dtype_of_the_variable(dtype, policy):
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.Dense(3, name="body", dtype=policy)(inputs))
    random = np.random.default_rng(0)
    arrays = {"body.kernel": random.normal(size=(3, 2)).astype(dtype), "body.bias": np.zeros(3, dtype)}
    assign(model, {name: tensor(name, array) for name, array in arrays.items()}, locate)
    kernel = keras.ops.convert_to_numpy(model.weights[0])
    np.testing.assert_array_equal(kernel, arrays["body.kernel"].T.astype(policy))


LOAD = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import tiny
import zoo
from keras_transformers.families import llama
from keras_transformers.tasks import Task

def now():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

def peak():
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024

tokenizer, folder = tiny.tokenizer(), sys.argv[2]
for name, width in (("small", 64), ("large", 2048)):
    config = llama(tokenizer.vocabulary_size, 4, 4, width, 3 * width, max_length=16)
    Task("causal_lm", config, tokenizer).save(f"{folder}/{name}", dtype="bfloat16")
zoo.load(f"{folder}/small", dtype=sys.argv[3])  # imports
before = now()
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
task = zoo.load(f"{folder}/large", dtype=sys.argv[3])
width = 4 if sys.argv[3] == "float32" else 2
print((peak() - before) / (width * task.model.count_params()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_a_load_takes_little_more_than_the_weights(tmp_path, dtype):
    assert float(run(LOAD, str(tmp_path), dtype).splitlines()[-1]) < 1.2


def test_the_report_names_every_fault_and_nothing_is_assigned(model, tensors):
    before = [np.array(weight) for weight in model.weights]
    del tensors["body.bias"]
    tensors["head.kernel"] = tensor("theirs", np.zeros((3, 4), "float32"))
    tensors["head.bias"] = tensor("quantized", np.zeros(4, "int8"))
    tensors["more"] = tensor("more", np.zeros(1, "float32"))
    with pytest.raises(ValueError, match="the file does not fit the model; nothing was loaded") as error:
        assign(model, tensors, locate, source="the file")
    lines = str(error.value).splitlines()[1:]
    assert lines == [
        "missing:",
        "  body.bias (for body/bias (3,))",
        "of another shape:",
        "  theirs is (3, 4), for head/kernel (3, 4)",
        lines[4],
        "  quantized is int8, for head/bias (4,)",
        "unexpected:",
        "  more",
    ]
    assert "must be dequantized first" in lines[4]
    for weight, array in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(np.array(weight), array)


def test_layers_that_keep_their_values(model, tensors):
    head = [weight for weight in model.weights if weight.path.startswith("head/")]
    before = [np.array(weight) for weight in head]
    assert assign(model, tensors, locate, fresh=["head"], may_stay=lambda name: True) == ("head/kernel", "head/bias")
    del tensors["head.kernel"], tensors["head.bias"]
    assert assign(model, tensors, locate, missing_ok=["head"]) == ("head/kernel", "head/bias")
    for weight, array in zip(head, before, strict=True):
        np.testing.assert_array_equal(np.array(weight), array)


def test_a_layer_that_may_be_missing_takes_what_is_there(model, tensors):
    assert assign(model, tensors, locate, missing_ok=["head"]) == ()
    np.testing.assert_array_equal(np.array(model.get_layer("head").bias), tensors["head.bias"].read())


@pytest.mark.parametrize("part", ["kernel", "bias"])
def test_a_layer_that_may_be_missing_is_there_as_a_whole(model, tensors, part):
    del tensors[f"head.{part}"]
    with pytest.raises(ValueError, match=rf"missing:\n  head\.{part} \(for head/{part}"):
        assign(model, tensors, locate, missing_ok=["head"])
    assert assign(model, tensors, locate, fresh=["head"], may_stay=lambda name: True) == ("head/kernel", "head/bias")


def test_what_is_unexpected(model, tensors):
    tensors["head.extra"] = tensor("head.extra", np.zeros(1, "float32"))
    assert assign(model, tensors, locate, may_stay=lambda name: name == "head.extra") == ()
    with pytest.raises(ValueError, match=r"unexpected:\n  head\.extra"):
        assign(model, tensors, locate)
    many = {f"t{i:02}": tensor(f"t{i:02}", np.zeros(1, "float32")) for i in range(SHOWN + 3)}
    with pytest.raises(ValueError, match=re.escape("  ... and 4 more")):
        assign(model, tensors | many, locate)


def test_names_of_layers_are_a_list(model, tensors):
    with pytest.raises(ValueError, match="a list of str for `fresh`, received one str"):
        assign(model, tensors, locate, fresh="head")
