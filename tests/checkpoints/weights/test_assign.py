"""Tensors go to the variables that ask for them; if one does not fit, none goes anywhere."""

from __future__ import annotations

import re

import keras
import numpy as np
import pytest

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
