from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.generation.prescribed import Prescribed
from keras_transformers.generation.request import make_request
from keras_transformers.generation.sampling import choose, cut_off, gumbel, keep_top, keep_typical

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


def draws(number: int, seeds: np.ndarray, **parameters) -> np.ndarray:
    """How often each token is drawn."""
    function = choose
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        function = tf.function(choose, autograph=False)
    tokens = function(
        np.stack([LOGITS] * number), make_request(number, [], {}, {"temperature": 1.0} | parameters), seeds
    )
    return np.bincount(to_numpy(tokens), minlength=5)


def chi_squared(counts: np.ndarray, probabilities: np.ndarray) -> float:
    expected = counts.sum() * probabilities / probabilities.sum()
    assert not counts[expected == 0].any()
    return float((((counts - expected) ** 2)[expected > 0] / expected[expected > 0]).sum())


SEEDS = np.arange(2000, dtype="int32")
STEPS = np.stack([np.full(2000, 7, "int32"), SEEDS], axis=1)


@pytest.mark.integration(
    quick=[
        "{'temperature': 0.5, 'min_p': 0.2}-[0.16000001 0.09       0.         0.         0.        ]",
        "{'top_k': 3}-[0.40000001 0.30000001 0.15000001 0.         0.        ]",
        "{'top_p': 0.6}-[0.40000001 0.30000001 0.         0.         0.        ]",
    ]
)
@pytest.mark.parametrize(
    "parameters, probabilities",
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
def test_distribution_of_samples(parameters, probabilities):
    """27.9 is what 1 of 100,000 fair series of 5 tokens exceeds."""
    assert chi_squared(draws(2000, STEPS, **parameters), probabilities) < 27.9


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


@pytest.mark.parametrize(
    ("mass", "left"), [(0.2, [1]), (0.35, [0, 1]), (0.8, [0, 1, 2]), (0.9, [0, 1, 2, 3]), (1.0, [0, 1, 2, 3, 4])]
)
def test_typical_tokens_by_hand(mass, left):
    """The entropy is 1.39: surprises are 0.92, 1.20, 1.90, 2.30 and 3.00, so token 1 is the closest, then 0."""
    assert np.flatnonzero(np.isfinite(to_numpy(keep_typical(LOGITS[None], mass))[0])).tolist() == left


@pytest.mark.parametrize(
    ("epsilon", "eta", "left"),
    [(0.12, 0.0, 3), (0.9, 0.0, 1), (0.0, 0.12, 4), (0.0, 0.045, 5), (0.12, 0.3, 2), (0, 0, 5)],
)
def test_cut_offs_by_hand(epsilon, eta, left):
    """The square root of eta times 0.249, which is exp(-entropy), if that is less than eta; the likeliest stays."""
    assert np.isfinite(to_numpy(cut_off(LOGITS[None], epsilon, eta))[0]).sum() == left


@pytest.mark.parity
@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        ("typical_p", "Typical", [0.05, 0.3, 0.9, 0.999]),
        ("epsilon_cutoff", "Epsilon", [1e-4, 0.01, 0.2]),
        ("eta_cutoff", "Eta", [1e-3, 0.05, 0.9]),
    ],
)
def test_tokens_that_a_checkpoint_leaves_out(name, kind, values):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    logits = 3 * normal(30, 50, seed=2)
    logits[:, ::7] = -np.inf  # as the filters before leave them
    number = set()
    for value in values:
        expected = getattr(transformers, f"{kind}LogitsWarper")(value)(None, torch.from_numpy(logits)).numpy()
        options = {"epsilon": 0.0, "eta": 0.0, name.removesuffix("_cutoff"): value}
        result = keep_typical(logits, value) if name == "typical_p" else cut_off(logits, **options)
        np.testing.assert_array_equal(to_numpy(result), expected)
        number.add(int(np.isfinite(expected).sum()))
    assert len(number) == len(values)


@pytest.mark.integration
def test_samples_keep_to_what_a_checkpoint_allows():
    """A greedy row is not changed."""
    request = make_request(64, [], {}, {"temperature": [1.0] * 63 + [0.0]})
    seeds = np.stack([np.arange(64), np.arange(64)], 1).astype("int32")
    logits = np.broadcast_to(LOGITS, (64, 5))
    plain = to_numpy(choose(logits, request, seeds)).tolist()
    typical = to_numpy(choose(logits, request, seeds, Prescribed(typical_p=0.2))).tolist()
    cut = to_numpy(choose(logits, request, seeds, Prescribed(epsilon_cutoff=0.2))).tolist()
    assert (set(plain), set(typical[:63]), typical[63], set(cut)) == ({0, 1, 2, 3, 4}, {1}, 0, {0, 1})
