from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy

from keras_transformers.layers.mixers.causal_filter import CausalFilter

B, T, C = 2, 6, 3


@pytest.mark.parametrize(("kernel_size", "use_bias"), [(1, False), (3, True), (4, False)])
def test_it_is_the_depthwise_convolution_of_keras(kernel_size, use_bias):
    layer, x = CausalFilter(kernel_size, use_bias), normal(B, T, C)
    layer(x)
    theirs = keras.layers.DepthwiseConv1D(kernel_size, use_bias=use_bias)
    padded = np.pad(x, [(0, 0), (kernel_size - 1, 0), (0, 0)])
    theirs(padded)
    kernel, *bias = [to_numpy(weight) for weight in randomize(layer).weights]
    theirs.set_weights([kernel[..., None], *bias])
    np.testing.assert_allclose(to_numpy(layer(x)[0]), to_numpy(theirs(padded)), atol=1e-5)


def test_a_state_continues_each_row_where_it_ends():
    layer, x, lengths = CausalFilter(4), normal(B, T, C), np.array([1, 3])
    expected, last = layer(x)
    _, state = layer(np.where(np.arange(T)[None, :, None] < lengths[:, None, None], x, 9.0), lengths=lengths)
    for place in range(2):
        new = np.stack([x[row, length + place] for row, length in enumerate(lengths)])[:, None]
        found, state = layer(new, state=state)
        expected_rows = np.stack([to_numpy(expected)[row, length + place] for row, length in enumerate(lengths)])
        np.testing.assert_allclose(to_numpy(found)[:, 0], expected_rows, atol=1e-6)
    np.testing.assert_array_equal(to_numpy(last), x[:, -3:])


def test_a_text_does_not_see_the_one_before_it():
    layer, x = CausalFilter(4), normal(1, T, C)
    together, state = layer(x, positions=np.array([[0, 1, 2, 3, 0, 1]]))
    for begin, end in ((0, 4), (4, 6)):
        alone, of_last = layer(x[:, begin:end])
        np.testing.assert_allclose(to_numpy(together)[:, begin:end], to_numpy(alone), atol=1e-6)
    np.testing.assert_array_equal(to_numpy(state), to_numpy(of_last))
