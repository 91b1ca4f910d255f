from __future__ import annotations

import math

import pytest
from arrays import to_numpy

from keras_transformers.layers.dense import dense_initializer

INPUTS, UNITS = 60, 90


@pytest.mark.parametrize("gain", [1.0, 0.5])
@pytest.mark.parametrize(
    "initializer_range, largest",
    [
        (None, math.sqrt(6 / (INPUTS + UNITS))),  # Glorot, uniform
        # Truncated at two standard deviations; 0.8796 is the deviation of what is left of a standard normal.
        ("fan_in", 2 / math.sqrt(INPUTS) / 0.8796),
        (0.02, 0.04),
    ],
)
def test_how_far_from_zero_weights_start(initializer_range, largest, gain):
    weights = to_numpy(dense_initializer(initializer_range, gain)((INPUTS, UNITS)))
    expected = largest if initializer_range == 0.02 else gain * largest
    assert abs(weights).max() == pytest.approx(expected, rel=0.02)
