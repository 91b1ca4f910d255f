from __future__ import annotations

import warnings

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from layer_checks import check_layer

from keras_transformers.layers import LayerNormalization, OffsetRMSNormalization, RMSNormalization


@pytest.mark.integration(quick=["options0", "options1", "options2"])
@pytest.mark.parametrize("options", [{}, {"center": False}, {"scale": False}, {"epsilon": 1e-12, "axis": 2}])
def test_layer(options, tmp_path):
    check_layer(LayerNormalization, options, {"inputs": normal(2, 3, 8)}, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16", "float16", "float64"])
@pytest.mark.parametrize("axis", [-1, 1, [1, 2]])
def test_it_gives_what_keras_gives(axis, dtype):
    x = normal(4, 5, 16, scale=3) + 1
    ours, theirs = (
        layer(axis, epsilon=1e-5, dtype=dtype) for layer in (LayerNormalization, keras.layers.LayerNormalization)
    )
    for layer in (ours, theirs):
        layer.build(x.shape)
    randomize(ours)
    theirs.set_weights(ours.get_weights())
    step = 2e-6 if dtype in ("float32", "float64") else 2e-2 if "bfloat" in dtype else 3e-3
    np.testing.assert_allclose(
        *(to_numpy(layer(x)).astype("float64") for layer in (ours, theirs)), atol=step, rtol=step
    )


@pytest.mark.filterwarnings("ignore:a LayerNormalization over one number")
@pytest.mark.parametrize("shape", [(0, 4), (3, 1), (2, 0, 4)])
def test_odd_shapes(shape):
    output = to_numpy(LayerNormalization(epsilon=1e-12)(np.ones(shape, "float32")))
    np.testing.assert_array_equal(output, np.zeros(shape))


def test_it_is_exact_far_from_zero():
    """Keras' formula subtracts two large numbers: here it is off by 2e-4."""
    x = np.array([[4096.0, 4097.0, 4098.0, 4099.0]], "float32")
    expected = (x - x.mean()) / x.astype("float64").std()
    np.testing.assert_allclose(to_numpy(LayerNormalization(epsilon=1e-12)(x)), expected, atol=1e-6)


def test_weights_that_were_saved_with_the_class_of_keras(tmp_path):
    def model(norm):
        x = keras.Input((4,))
        return keras.Model(x, norm(epsilon=1e-5, name="final_norm")(keras.layers.Dense(4)(x)))

    old, new = model(keras.layers.LayerNormalization), model(LayerNormalization)
    randomize(old).save_weights(tmp_path / "old.weights.h5")
    new.load_weights(tmp_path / "old.weights.h5")
    np.testing.assert_array_equal(new.get_weights()[2], old.get_weights()[2])


@pytest.mark.parametrize("norm", [LayerNormalization, OffsetRMSNormalization, RMSNormalization])
def test_a_norm_over_one_number(norm):
    with pytest.warns(UserWarning, match=r"over one number .*\(2, 5, 1\), and axis=-1\. .*keras\.layers\.Dense\(32\)"):
        norm()(normal(2, 5, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        norm()(normal(2, 5, 2)), norm()(normal(2, 1, 3))
        if norm is not OffsetRMSNormalization:  # over the last axis only
            norm(axis=(1, 2))(normal(2, 5, 1))


def test_rms_normalization_is_that_of_keras(tmp_path):
    x = normal(4, 5, 16, scale=3)
    check_layer(RMSNormalization, {"epsilon": 1e-5}, {"x": x}, tmp_path)
    pair = RMSNormalization(epsilon=1e-5), keras.layers.RMSNormalization(epsilon=1e-5)
    found, expected = (to_numpy(layer(x)) for layer in pair)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.integration(quick=["bfloat16", "mixed_bfloat16"])
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "bfloat16"])
def test_weights_that_are_offsets_from_one(dtype, tmp_path):
    x = normal(4, 5, 16, scale=3)
    check_layer(OffsetRMSNormalization, {"epsilon": 1e-5}, {"inputs": x}, tmp_path)
    layer = OffsetRMSNormalization(epsilon=1e-2, dtype=dtype)
    layer.build(x.shape)
    assert not to_numpy(layer.scale).any()
    layer.scale.assign(normal(16, scale=1e-3, seed=1))
    given, scale = (to_numpy(keras.ops.cast(array, layer.compute_dtype)) for array in (x, layer.scale))
    scale = to_numpy(layer.scale) if dtype.startswith("mixed") else scale
    normed = given.astype("float32") / np.sqrt(np.square(given.astype("float32")).mean(-1, keepdims=True) + 1e-2)
    expected = normed * (1 + scale.astype("float32"))
    found = to_numpy(layer(x)).astype("float32")
    rounded = to_numpy(keras.ops.cast(expected, layer.compute_dtype)).astype("float32")
    np.testing.assert_allclose(found, rounded, rtol=1e-6 if dtype == "float32" else 8e-3)
    assert np.abs(found - rounded).mean() < 1e-5  # bfloat16 has no 1.001: it would be 1, an error of 1e-3
