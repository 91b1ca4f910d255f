"""Tensors of another shape than ours: nothing is read for the shape, and the inverse gives them back."""

from __future__ import annotations

import numpy as np

from keras_transformers.checkpoints.files.tensors import Tensor
from keras_transformers.checkpoints.names import FAMILIES
from keras_transformers.checkpoints.reshaped import reshape, reshape_back

NAMES = FAMILIES["bart"]
POSITIONS, BIAS = "model.encoder.embed_positions.weight", "final_logits_bias"
OURS = {POSITIONS: np.arange(1.0, 7.0).reshape(3, 2), BIAS: np.arange(4.0), "other": np.ones((2, 2))}


def stored(reads: list[str]) -> dict[str, Tensor]:
    def tensor(name: str, array: np.ndarray) -> Tensor:
        return Tensor(name, array.shape, array.dtype.name, lambda: reads.append(name) or array)

    return {name: tensor(name, array) for name, array in OURS.items()}


def test_positions_stand_behind_two_unused_rows_and_the_bias_in_a_row():
    theirs = reshape_back(stored([]), NAMES)
    assert theirs[POSITIONS].read().tolist() == [[0, 0], [0, 0], [1, 2], [3, 4], [5, 6]]
    assert theirs[BIAS].shape == theirs[BIAS].read().shape == (1, 4) and theirs["other"].read() is OURS["other"]


def test_reshape_is_the_inverse():
    reads = []
    again = reshape(reshape_back(stored(reads), NAMES), NAMES)
    assert {name: tensor.shape for name, tensor in again.items()} == {name: x.shape for name, x in OURS.items()}
    assert reads == []  # of a large file only the header has been read
    for name, array in OURS.items():
        np.testing.assert_array_equal(again[name].read(), array)
