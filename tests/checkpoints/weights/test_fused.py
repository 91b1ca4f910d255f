"""Fused tensors are split and joined again; tensors of another shape are reshaped, and back."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.checkpoints.weights.fused import join, reshape, reshape_back, split
from keras_transformers.families import llama
from keras_transformers.families.table import Fused

ATTENTION = Fused(r"h\.\d+\.c_attn", ("query", "key", "value"))
NAMES = FAMILIES["gpt2"]._replace(fused=(ATTENTION,), untransposed=("h.",))
CONFIG = llama(90, num_layers=1, num_heads=4, num_kv_heads=2, hidden_dim=8, intermediate_dim=12)
ARRAYS = {
    "h.0.c_attn.weight": np.arange(24.0).reshape(2, 12),
    "h.0.c_attn.bias": np.arange(12.0),
    "h.10.c_attn.weight": -np.arange(6.0).reshape(1, 6),
    "h.0.c_proj.weight": np.ones((3, 3)),
}


def stored(arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {name: Tensor(name, x.shape, x.dtype.name, lambda array=x: array) for name, x in arrays.items()}


def test_parts_are_slices_of_the_last_axis():
    parts = split(stored(ARRAYS), NAMES, CONFIG, "the file")
    assert len(parts) == 10
    for index, name in enumerate(("query", "key", "value")):
        tensor = parts[f"h.0.c_attn.{name}.weight"]
        assert tensor.shape == (2, 4) and tensor.name == "h.0.c_attn.weight"
        np.testing.assert_array_equal(tensor.read(), ARRAYS["h.0.c_attn.weight"][:, 4 * index : 4 * index + 4])
    np.testing.assert_array_equal(parts["h.10.c_attn.value.weight"].read(), [[-4.0, -5.0]])
    assert parts["h.0.c_proj.weight"].shape == (3, 3)


def test_join_is_the_inverse():
    joined = join(split(stored(ARRAYS), NAMES, CONFIG, "the file"), NAMES, CONFIG)
    assert joined.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert joined[name].shape == array.shape
        np.testing.assert_array_equal(joined[name].read(), array)


def test_a_width_that_cannot_be_parted_stays_for_the_report():
    odd = {"h.0.c_attn.weight": np.zeros((2, 10))}
    (tensor,) = split(stored(odd), NAMES, CONFIG, "the file").values()
    assert (tensor.name, tensor.shape) == ("h.0.c_attn.weight", (2, 10))


@pytest.mark.parametrize("untransposed", [("h.",), ()])
def test_parts_that_alternate_by_head(untransposed):
    """As in GPT-NeoX: the query, key and value of a head, then those of the next one."""
    names = NAMES._replace(
        fused=(ATTENTION._replace(groups=lambda config: config.num_heads),), untransposed=untransposed
    )
    rows = np.arange(24.0).reshape(2, 12)
    arrays = {"h.0.c_attn.weight": rows if untransposed else rows.T, "h.0.c_attn.bias": np.arange(12.0)}
    parts = split(stored(arrays), names, CONFIG, "the file")
    assert parts["h.0.c_attn.key.bias"].read().tolist() == [1, 4, 7, 10]
    key = parts["h.0.c_attn.key.weight"].read()
    assert (key if untransposed else key.T)[0].tolist() == [1, 4, 7, 10]
    joined = join(parts, names, CONFIG)
    for name, array in arrays.items():
        assert joined[name].shape == array.shape
        np.testing.assert_array_equal(joined[name].read(), array)


def test_families_without_fused_tensors():
    names = NAMES._replace(fused=())
    tensors = split(stored(ARRAYS), names, CONFIG, "the file")
    assert tensors.keys() == ARRAYS.keys() and join(tensors, names, CONFIG) is tensors


def test_a_part_that_is_there_twice():
    twice = stored(ARRAYS | {"h.0.c_attn.key.bias": np.zeros(4)})
    with pytest.raises(ValueError, match=r"the file holds two tensors for one weight: .*h\.0\.c_attn\.key\.bias"):
        split(twice, NAMES, CONFIG, "the file")


# As PyTorch's Linear has them, (output, input): ModernBERT's attention and gated layer, and the unequal parts of Phi-3.
SEVERAL = NAMES._replace(
    fused=(
        Fused(r"layers\.\d+\.attn\.Wqkv", ("query", "key", "value")),
        Fused(r"layers\.\d+\.mlp\.Wi", ("gate", "up")),
        Fused(r"layers\.\d+\.qkv_proj", ("query", "key", "value"), lambda c: [c.head_dim * n for n in
              (c.num_heads, c.num_kv_heads, c.num_kv_heads)]),
    ),
    untransposed=(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "rows"), [("attn.Wqkv", (8, 8, 8)), ("mlp.Wi", (12, 12)), ("qkv_proj", (8, 4, 4))], ids=str
)
def test_several_patterns_with_parts_of_their_own_widths(layer, rows):
    name, width = f"layers.3.{layer}", sum(rows)
    arrays = {f"{name}.weight": np.arange(8.0 * width).reshape(width, 8), f"{name}.bias": np.arange(float(width))}
    parts = split(stored(arrays), SEVERAL, CONFIG, "the file")
    begins = np.cumsum([0, *rows])
    names = next(fused.parts for fused in SEVERAL.fused if fused.pattern.endswith(layer.split(".")[-1]))
    assert [*parts] == [f"{name}.{part}.{leaf}" for leaf in ("weight", "bias") for part in names]
    for part, begin, count in zip(names, begins, rows, strict=False):
        for leaf in ("weight", "bias"):
            tensor = parts[f"{name}.{part}.{leaf}"]
            np.testing.assert_array_equal(tensor.read(), arrays[f"{name}.{leaf}"][begin : begin + count])
            assert tensor.shape == tensor.read().shape
    again = join(parts, SEVERAL, CONFIG)
    assert again.keys() == arrays.keys()
    assert all((again[key].read() == array).all() and again[key].shape == array.shape for key, array in arrays.items())


def test_parts_that_are_not_of_the_configuration_stay_for_the_report():
    (tensor,) = split(stored({"layers.0.qkv_proj.weight": np.zeros((24, 8))}), SEVERAL, CONFIG, "the file").values()
    assert tensor.shape == (24, 8)


BART = FAMILIES["bart"]
POSITIONS, BIAS = "model.encoder.embed_positions.weight", "final_logits_bias"
SHAPED = {POSITIONS: np.arange(1.0, 7.0).reshape(3, 2), BIAS: np.arange(4.0), "other": np.ones((2, 2))}


def recorded(reads: list[str]) -> dict[str, Tensor]:
    def tensor(name: str, array: np.ndarray) -> Tensor:
        return Tensor(name, array.shape, array.dtype.name, lambda: reads.append(name) or array)

    return {name: tensor(name, array) for name, array in SHAPED.items()}


def test_positions_stand_behind_two_unused_rows_and_the_bias_in_a_row():
    theirs = reshape_back(recorded([]), BART)
    assert theirs[POSITIONS].read().tolist() == [[0, 0], [0, 0], [1, 2], [3, 4], [5, 6]]
    assert theirs[BIAS].shape == theirs[BIAS].read().shape == (1, 4) and theirs["other"].read() is SHAPED["other"]


def test_reshape_is_the_inverse():
    reads = []
    again = reshape(reshape_back(recorded(reads), BART), BART)
    assert {name: tensor.shape for name, tensor in again.items()} == {name: x.shape for name, x in SHAPED.items()}
    assert reads == []  # of a large file only the header has been read
    for name, array in SHAPED.items():
        np.testing.assert_array_equal(again[name].read(), array)
