"""Schedules: the documented values, and their place in an optimizer's config."""

import keras
import numpy as np
import pytest

from keras_transformers.training.optimizers.schedules import (
    WarmupCosine,
    WarmupInverseSqrt,
    WarmupLinear,
    make_schedule,
)


@pytest.mark.parametrize("make", [WarmupLinear, WarmupCosine])
def test_rises_to_the_peak_and_wastes_no_update(make):
    rate = make(peak=3e-4, warmup_steps=10, total_steps=100)
    rates = np.array([float(rate(step)) for step in range(102)])
    assert rates[:10] == pytest.approx(3e-4 * np.arange(1, 11) / 10)
    assert rates.argmax() == 9
    assert rates[99] > 0 and rates[100] == pytest.approx(0, abs=1e-10) and rates[101] == pytest.approx(0, abs=1e-10)


def test_linear_falls_evenly():
    rate = WarmupLinear(1.0, 0, 9)
    assert [float(rate(step)) for step in range(9)] == pytest.approx([1 - n / 10 for n in range(1, 10)])


def test_cosine_is_half_way_down_half_way_through():
    assert float(WarmupCosine(1.0, 10, 29)(19)) == pytest.approx(0.5)


def test_inverse_sqrt_is_the_formula_of_the_paper():
    rate = WarmupInverseSqrt(peak=(512 * 4000) ** -0.5, warmup_steps=4000)
    for n in (1, 2000, 4000, 4001, 100_000):
        assert float(rate(n - 1)) == pytest.approx(512**-0.5 * min(n**-0.5, n * 4000**-1.5), rel=1e-5)


def test_inverse_sqrt_from_an_initial_rate_is_that_of_fairseq():
    rate = WarmupInverseSqrt(peak=0.005, warmup_steps=2000, initial=1e-7)
    for updates in (1, 2, 1999, 2000, 8000):  # `num_updates` of fairseq's `step_update`
        warm = 1e-7 + updates * (0.005 - 1e-7) / 2000
        expected = warm if updates < 2000 else 0.005 * 2000**0.5 * updates**-0.5
        assert float(rate(updates - 1)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rate", [WarmupLinear(1e-3, 2, 9), WarmupCosine(1e-3, 2, 9), WarmupInverseSqrt(1e-3, 2, 1e-4)])
def test_config_round_trip_inside_an_optimizer(rate):
    optimizer = keras.optimizers.deserialize(keras.optimizers.serialize(keras.optimizers.SGD(rate)))
    assert type(optimizer._learning_rate) is type(rate) and vars(optimizer._learning_rate) == vars(rate)


def test_impossible_numbers_of_steps():
    with pytest.raises(ValueError, match="warmup_steps=5 and total_steps=4"):
        WarmupLinear(1.0, 5, 4)
    with pytest.raises(ValueError, match=r"initial=2.0 and peak"):
        WarmupInverseSqrt(1.0, 5, initial=2.0)
    with pytest.raises(ValueError, match="warmup_steps=0"):
        WarmupInverseSqrt(1.0, 0)


@pytest.mark.parametrize("name", ["linear", "cosine", "inverse_sqrt"])
def test_rises_to_the_peak_then_falls(name):
    rates = [float(make_schedule(name, 1.0, 0.2, 10)(step)) for step in range(10)]
    assert rates[:2] == [0.5, 1.0] and rates[1:] == sorted(rates[1:], reverse=True)
    assert 0 < rates[-1] < rates[1]


def test_constant():
    assert make_schedule("constant", 1e-3, 0.1, 10) == 1e-3


def test_a_schedule_of_keras_stays_as_it_is():
    schedule = keras.optimizers.schedules.CosineDecay(1e-3, 10)
    assert make_schedule("linear", schedule, 0.1, 10) is make_schedule("constant", schedule, 0.1, 10) is schedule
    with pytest.raises(ValueError, match="schedule='cosine', and a schedule as learning_rate"):
        make_schedule("cosine", schedule, 0.1, 10)


@pytest.mark.parametrize("rate", [0, -1e-3, float("nan"), float("inf"), "1e-3", True, None, [1e-3], 10**400, abs])
def test_what_is_no_rate(rate):
    for name in ("linear", "constant"):
        with pytest.raises(ValueError, match=r"learning_rate must be a positive number.*Schedule: received"):
            make_schedule(name, rate, 0.1, 10)
    with pytest.raises(ValueError, match="peak must be a positive number, such as 5e-5: received"):
        WarmupLinear(rate, 0, 10)


def test_rates_of_numpy_and_of_a_backend():
    for rate in (np.float32(0.5), np.array(0.5), keras.ops.convert_to_tensor(0.5)):
        assert make_schedule("constant", rate, np.float32(0.1), 10) == 0.5


@pytest.mark.parametrize("name", ["linear", "cosine", "inverse_sqrt"])
@pytest.mark.parametrize("steps, warmup", [(0, 0.1), (1, 0.9), (1, 0.0)])
def test_hardly_any_steps(name, steps, warmup):
    assert 0 <= float(make_schedule(name, 1.0, warmup, steps)(0)) <= 1
