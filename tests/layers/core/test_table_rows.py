from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from gradients import gradients, weight_gradients
from keras import ops

from keras_transformers.layers import LearnedPositions, RelativePositionBias, TokenEmbedding
from keras_transformers.layers.core import table_rows

B, T, D = 512, 8, 4
RANDOM = np.random.default_rng(0)
NO_IDS = np.zeros((B, T), "int32")
IDS = RANDOM.integers(0, 2, (B, T), "int32")
STATES = np.zeros((B, T, D), "float32")
CASES = {
    "tokens": (TokenEmbedding, {"vocabulary_size": 9, "hidden_dim": D}, {"inputs": IDS}),
    "segments": (TokenEmbedding, {"vocabulary_size": 9, "hidden_dim": D, "num_segments": 2},
                 {"inputs": NO_IDS, "segment_ids": IDS}),
    "segment 0": (TokenEmbedding, {"vocabulary_size": 9, "hidden_dim": D, "num_segments": 2}, {"inputs": IDS}),
    "many segments": (TokenEmbedding, {"vocabulary_size": 9, "hidden_dim": D, "num_segments": table_rows.FEW_ROWS + 1},
                      {"inputs": NO_IDS, "segment_ids": IDS}),
    "places": (LearnedPositions, {"max_length": T}, {"hidden_states": STATES}),
    "positions": (LearnedPositions, {"max_length": T}, {"hidden_states": STATES, "positions": IDS}),
    "positions of all": (LearnedPositions, {"max_length": T}, {"hidden_states": STATES, "positions": IDS[:1]}),
    "relative": (RelativePositionBias, {"num_heads": 4},
                 {"query_positions": np.arange(64)[None], "key_positions": np.arange(64)[None]}),
}  # fmt: skip


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    return to_numpy(ops.cast(ops.convert_to_tensor(array), dtype))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("case", CASES)
def test_gradients_in_half_precision_are_the_sums_of_float32(case, dtype, training):
    """4,096 tokens share a few rows. A sum in bfloat16 stays at 256 to 512; one rounding of it is 2e-3."""
    layer_class, options, arguments = CASES[case]
    layers = [layer_class(**options, dtype=policy) for policy in ("float32", f"mixed_{dtype}")]
    shape = layers[0](**arguments).shape
    layers[1](**arguments)
    upstream = rounded(RANDOM.uniform(0.5, 1.5, shape).astype("float32"), dtype)
    mode = {"training": training} if layer_class is TokenEmbedding else {}
    expected, found = (weight_gradients(layer, upstream, arguments, **mode) for layer in layers)
    for name, sums in expected.items():
        assert sums.max() > 256
        np.testing.assert_allclose(found[name], sums, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("rows", [1, 2, table_rows.FEW_ROWS, table_rows.FEW_ROWS + 1])
def test_rows_and_their_gradients(rows):
    table, ids, upstream = normal(rows, D), RANDOM.integers(0, rows, (3, 5)), normal(3, 5, D, seed=1)
    expected = np.zeros_like(table)
    np.add.at(expected, ids, upstream)
    for training in (False, True):
        np.testing.assert_array_equal(to_numpy(table_rows.take_rows(table, ids, "float32", training)), table[ids])
        found = gradients(
            lambda table, mode=training: upstream * table_rows.take_rows(table, ids, "float32", mode), table
        )
        np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_rows_are_rounded_once(dtype, training):
    table, ids = normal(2, D), np.array([[0, 1, 1]])
    found = table_rows.take_rows(table, ids, dtype, training)
    assert keras.backend.standardize_dtype(found.dtype) == dtype
    np.testing.assert_array_equal(to_numpy(found), rounded(table, dtype)[ids])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_layers_of_half_precision_weights(dtype):
    """Not mixed: the tables themselves are in half precision, and so are their gradients."""
    for layer_class, options, arguments in (CASES[name] for name in ("segments", "places", "relative")):
        layer = layer_class(**options, dtype=dtype)
        output = layer(**arguments)
        assert keras.backend.standardize_dtype(output.dtype) == dtype
        assert all(weight.dtype == dtype for weight in layer.trainable_variables)
        training = {"training": True} if layer_class is TokenEmbedding else {}
        found = weight_gradients(layer, np.ones(output.shape, "float32"), arguments, **training)
        assert all(np.isfinite(one).all() for one in found.values())
