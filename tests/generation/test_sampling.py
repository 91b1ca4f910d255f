from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.generation.request import make_request
from keras_transformers.generation.sampling import choose, gumbel, keep_top

PROBABILITIES = np.array([0.4, 0.3, 0.15, 0.1, 0.05], "float32")
LOGITS = np.log(PROBABILITIES)
OFF = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}


def kept(logits: np.ndarray, **filters) -> np.ndarray:
    """Which tokens are left; the logits of those are untouched."""
    filters = {
        name: np.full(len(logits), filters.get(name, off), np.array(off).dtype.name.replace("64", "32"))
        for name, off in OFF.items()
    }
    result = to_numpy(keep_top(logits, **filters))
    left = np.isfinite(result)
    np.testing.assert_array_equal(result[left], logits[left])
    return left


@pytest.mark.parametrize(
    "filters, number",
    [
        ({}, 5), ({"top_k": 3}, 3), ({"top_k": 99}, 5), ({"top_k": 1}, 1),
        ({"top_p": 0.3}, 1), ({"top_p": 0.41}, 2), ({"top_p": 0.69}, 2), ({"top_p": 0.86}, 4),
        ({"min_p": 0.5}, 2), ({"min_p": 0.3}, 3), ({"min_p": 1.0}, 1),
        ({"top_k": 2, "top_p": 0.5}, 1),  # of 4/7 and 3/7
        ({"top_p": 0.86, "min_p": 0.3}, 3),
    ],
    ids=str,
)  # fmt: skip
def test_filters_by_hand(filters, number):
    order = np.array([2, 0, 4, 1, 3])
    left = kept(LOGITS[None, order], **filters)[0]
    assert left.tolist() == (order < number).tolist()


def test_one_filter_a_row():
    left = to_numpy(
        keep_top(
            np.stack([LOGITS] * 4),
            np.array([0, 2, 0, 0], "int32"),
            np.array([1, 1, 0.69, 1], "float32"),
            np.array([0, 0, 0, 0.2], "float32"),
        )
    )
    assert np.isfinite(left).sum(-1).tolist() == [5, 2, 2, 4]


def test_the_nucleus_is_taken_of_the_rows_own_top_k():
    """4/7 is enough for 0.55; of three tokens the first has 8/17."""
    top_k, top_p = np.array([2, 3], "int32"), np.array([0.55, 0.55], "float32")
    left = to_numpy(keep_top(np.stack([LOGITS] * 2), top_k, top_p, np.zeros(2, "float32")))
    assert np.isfinite(left).sum(-1).tolist() == [1, 2]


def test_sums_that_round_to_one():
    """Probabilities of many tokens add up to a little less or more than 1."""
    logits = normal(40, 3000, scale=3)
    top_k = np.where(np.arange(40) % 2, 0, 7).astype("int32")
    left = to_numpy(keep_top(logits, top_k, np.ones(40, "float32"), np.zeros(40, "float32")))
    assert np.isfinite(left).sum(-1).tolist() == [7, 3000] * 20


@pytest.mark.parity
@pytest.mark.parametrize(
    "filters", [{"top_k": 7}, {"top_p": 0.8}, {"min_p": 0.1}, {"top_k": 20, "top_p": 0.6}], ids=str
)
def test_filters_are_those_of_transformers(filters):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    logits = normal(50, 40, scale=2)
    expected = torch.from_numpy(logits)
    for name, value in filters.items():
        kind = {"top_k": "TopKLogitsWarper", "top_p": "TopPLogitsWarper", "min_p": "MinPLogitsWarper"}[name]
        expected = getattr(transformers, kind)(value)(None, expected)
    np.testing.assert_array_equal(kept(logits, **filters), np.isfinite(expected.numpy()))
    assert np.isfinite(expected.numpy()).sum(-1).std() > 0 or list(filters) == ["top_k"]


def draws(number: int, seeds: np.ndarray, **knobs) -> np.ndarray:
    """How often each token is drawn."""
    function = choose
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        function = tf.function(choose, autograph=False)
    tokens = function(np.stack([LOGITS] * number), make_request(number, [], {}, {"temperature": 1.0} | knobs), seeds)
    return np.bincount(to_numpy(tokens), minlength=5)


def chi_squared(counts: np.ndarray, probabilities: np.ndarray) -> float:
    expected = counts.sum() * probabilities / probabilities.sum()
    assert not counts[expected == 0].any()
    return float((((counts - expected) ** 2)[expected > 0] / expected[expected > 0]).sum())


SEEDS = np.arange(2000, dtype="int32")
STEPS = np.stack([np.full(2000, 7, "int32"), SEEDS], axis=1)


@pytest.mark.parametrize(
    "knobs, probabilities",
    [
        ({}, PROBABILITIES),
        ({"temperature": 0.5}, PROBABILITIES**2),
        ({"temperature": 2.0}, PROBABILITIES**0.5),
        ({"top_k": 3}, PROBABILITIES * [1, 1, 1, 0, 0]),
        ({"top_p": 0.6}, PROBABILITIES * [1, 1, 0, 0, 0]),
        # Temperature first: 0.16, 0.09, 0.0225, ... of 0.285.
        ({"temperature": 0.5, "min_p": 0.2}, PROBABILITIES**2 * [1, 1, 0, 0, 0]),
    ],
    ids=str,
)
def test_distribution_of_samples(knobs, probabilities):
    """27.9 is what 1 of 100,000 fair series of 5 tokens exceeds."""
    assert chi_squared(draws(2000, STEPS, **knobs), probabilities) < 27.9


def test_distribution_over_seeds():
    assert chi_squared(draws(2000, STEPS[:, ::-1]), PROBABILITIES) < 27.9


def test_temperature_zero_is_greedy_beside_others():
    temperatures = np.where(SEEDS % 2, 1.0, 0.0)
    counts = draws(2000, STEPS, temperature=temperatures)
    assert chi_squared(counts - [1000, 0, 0, 0, 0], PROBABILITIES) < 27.9


def test_noise_is_of_the_seeds_alone():
    noise = to_numpy(gumbel(np.array([[1, 2], [1, 3], [2, 2], [1, 2]], "int32"), 4))
    np.testing.assert_array_equal(noise[0], noise[3])
    assert len(np.unique(noise[:3])) == 12
    assert np.isfinite(noise).all()
