from __future__ import annotations

import itertools

import numpy as np
import pytest
from arrays import normal, to_numpy
from layer_checks import check_layer

from keras_transformers.layers import Dropout

ONES = np.ones((2_000, 256), "float32")


def dropped(rate, inputs=ONES, **options):
    return to_numpy(Dropout(rate, seed=7, **options)(inputs, training=True)).astype("float64")


def test_layer(tmp_path):
    check_layer(Dropout, {"rate": 0.2, "seed": 3}, {"inputs": normal(2, 3, 4)}, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_it_drops_the_share_that_is_asked_for(rate, dtype):
    share = np.mean(dropped(rate, dtype=dtype) == 0)
    assert abs(share - rate) < 4 * np.sqrt(rate * (1 - rate) / ONES.size)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.8])
def test_values_that_share_a_number_are_independent(rate):
    gone = dropped(rate).reshape(-1, 4, ONES.shape[-1] // 4) == 0
    surprise = 0.0
    for pattern in itertools.product([False, True], repeat=4):
        expected = np.prod(np.where(pattern, rate, 1 - rate)) * gone.size / 4
        found = np.all(gone == np.array(pattern)[:, None], axis=1).sum()
        surprise += (found - expected) ** 2 / expected
    assert surprise < 50  # chi-squared of 16 patterns: more in one of 80,000 seeds


@pytest.mark.parametrize("width", [1, 2, 5, 8, 63])
def test_any_width(width):
    inputs = normal(300, 4, width) + 5.0
    found = dropped(0.25, inputs)
    np.testing.assert_allclose(found, np.where(found == 0, 0, inputs / 0.75), rtol=1e-6)
    assert 0.15 < np.mean(found == 0) < 0.35


def test_calls_differ_and_seeds_repeat():
    one, other = Dropout(0.5, seed=7), Dropout(0.5, seed=8)
    first, second = (to_numpy(one(ONES, training=True)) for _ in range(2))
    assert (first != second).mean() == pytest.approx(0.5, abs=0.01)
    np.testing.assert_array_equal(first, dropped(0.5))
    assert (first != to_numpy(other(ONES, training=True))).mean() == pytest.approx(0.5, abs=0.01)


def test_what_is_dropped_may_be_infinite():
    assert not np.isnan(dropped(0.5, np.full((8, 8), np.inf, "float32"))).any()


@pytest.mark.parametrize("options", [{"rate": 0.0, "training": True}, {"rate": 0.5, "training": False}])
def test_nothing_is_dropped(options):
    layer = Dropout(options["rate"])
    np.testing.assert_array_equal(to_numpy(layer(ONES, training=options["training"])), ONES)


def test_a_noise_shape_drops_whole_rows():
    rows = dropped(0.5, noise_shape=(None, 1))
    assert np.all(rows == rows[:, :1]) and 0.4 < np.mean(rows == 0) < 0.6
