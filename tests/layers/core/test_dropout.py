from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy
from keras import ops
from layer_checks import check_layer

from keras_transformers.layers import Dropout
from keras_transformers.layers.core.accelerator import Accelerator
from keras_transformers.layers.core.dropout import nth_seed

ONES = np.ones((2_000, 256), "float32")
ACCELERATOR = "keras_transformers.layers.core.dropout.accelerator"


@pytest.fixture(autouse=True, params=["cpu", "gpu"] if keras.backend.backend() == "jax" else ["cpu"])
def generator(request, monkeypatch):
    """Every test of this file is of the random numbers of each device; those of a GPU are made here, too."""
    monkeypatch.setattr(ACCELERATOR, lambda: Accelerator(request.param))
    return request.param


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


def test_the_bits_of_a_gpu_are_others(generator, monkeypatch):
    drawn = dropped(0.5)
    monkeypatch.setattr(ACCELERATOR, Accelerator)
    assert (drawn != dropped(0.5)).any() == (generator == "gpu")


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


@pytest.mark.parametrize("axis", [0, 1])
def test_neighbours_are_independent(axis):
    gone = dropped(0.3) == 0
    both = np.mean(np.roll(gone, 1, axis) & gone)
    assert abs(both - 0.09) < 4 * np.sqrt(0.09 * 0.91 / gone.size)


def test_layers_calls_and_parts_of_a_call_are_independent():
    """Their seeds differ in one number, by one or by a little."""
    layer = Dropout(0.5, seed=7)
    seeds = [ops.cast(np.array(seed), layer.next_seed(True).dtype) for seed in [(7, 0), (8, 0), (7, 1), (7, 2), (0, 7)]]
    seeds += [nth_seed(seeds[0], index) for index in range(3)]
    gone = np.stack([to_numpy(layer.multipliers(ONES.shape, seed)).ravel() == 0 for seed in seeds])
    correlations = np.corrcoef(gone) - np.eye(len(seeds))
    assert np.abs(correlations).max() < 5 / np.sqrt(ONES.size)


def test_seeds_of_a_run_are_those_of_any_device(monkeypatch):
    """A run goes on where it was, wherever its earlier steps were computed."""
    moved, stayed = Dropout(0.5, seed=7), Dropout(0.5, seed=7)
    moved(ONES, training=True)
    monkeypatch.setattr(ACCELERATOR, Accelerator)
    stayed(ONES, training=True)
    np.testing.assert_array_equal(
        to_numpy(moved.seed_generator.state.value), to_numpy(stayed.seed_generator.state.value)
    )
    np.testing.assert_array_equal(to_numpy(moved(ONES, training=True)), to_numpy(stayed(ONES, training=True)))
