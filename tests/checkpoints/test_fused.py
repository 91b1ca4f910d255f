"""Fused tensors as their parts, and joined again."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.fused import join, split
from keras_transformers.checkpoints.names import FAMILIES

NAMES = FAMILIES["gpt2"]._replace(fused=(r"h\.\d+\.c_attn", ("query", "key", "value")))
ARRAYS = {
    "h.0.c_attn.weight": np.arange(24.0).reshape(2, 12),
    "h.0.c_attn.bias": np.arange(12.0),
    "h.10.c_attn.weight": -np.arange(6.0).reshape(1, 6),
    "h.0.c_proj.weight": np.ones((3, 3)),
}


def stored(arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: Tensor(name, x.shape, x.dtype.name, lambda array=x: array) for name, x in arrays.items()}


def test_parts_are_slices_of_the_last_axis():
    parts = split(stored(ARRAYS), NAMES, "the file")
    assert len(parts) == 10
    for index, name in enumerate(("query", "key", "value")):
        tensor = parts[f"h.0.c_attn.{name}.weight"]
        assert tensor.shape == (2, 4) and tensor.name == "h.0.c_attn.weight"
        np.testing.assert_array_equal(tensor.read(), ARRAYS["h.0.c_attn.weight"][:, 4 * index : 4 * index + 4])
    np.testing.assert_array_equal(parts["h.10.c_attn.value.weight"].read(), [[-4.0, -5.0]])
    assert parts["h.0.c_proj.weight"].shape == (3, 3)


def test_join_is_the_inverse():
    joined = join(split(stored(ARRAYS), NAMES, "the file"), NAMES)
    assert joined.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert joined[name].shape == array.shape
        np.testing.assert_array_equal(joined[name].read(), array)


def test_a_width_that_cannot_be_parted_stays_for_the_report():
    odd = {"h.0.c_attn.weight": np.zeros((2, 10))}
    (tensor,) = split(stored(odd), NAMES, "the file").values()
    assert (tensor.name, tensor.shape) == ("h.0.c_attn.weight", (2, 10))


def test_families_without_fused_tensors():
    names = NAMES._replace(fused=None)
    tensors = split(stored(ARRAYS), names, "the file")
    assert tensors.keys() == ARRAYS.keys() and join(tensors, names) is tensors


def test_a_part_that_is_there_twice():
    twice = stored(ARRAYS | {"h.0.c_attn.key.bias": np.zeros(4)})
    with pytest.raises(ValueError, match=r"the file holds two tensors for one weight: .*h\.0\.c_attn\.key\.bias"):
        split(twice, NAMES, "the file")
