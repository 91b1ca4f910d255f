from __future__ import annotations

import pytest

from keras_transformers.tasks.schedule import make_schedule


@pytest.mark.parametrize("name", ["linear", "cosine", "inverse_sqrt"])
def test_rises_to_the_peak_then_falls(name):
    rates = [float(make_schedule(name, 1.0, 0.2, 10)(step)) for step in range(10)]
    assert rates[:2] == [0.5, 1.0] and rates[1:] == sorted(rates[1:], reverse=True)
    assert 0 < rates[-1] < rates[1]


def test_constant():
    assert make_schedule("constant", 1e-3, 0.1, 10) == 1e-3


@pytest.mark.parametrize("name", ["linear", "cosine", "inverse_sqrt"])
@pytest.mark.parametrize("steps, warmup", [(0, 0.1), (1, 0.9), (1, 0.0)])
def test_hardly_any_steps(name, steps, warmup):
    assert 0 <= float(make_schedule(name, 1.0, warmup, steps)(0)) <= 1
