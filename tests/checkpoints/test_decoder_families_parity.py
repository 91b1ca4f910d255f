"""Each family of decoders beside `transformers`: the gradients of a step of language models and of classifiers."""

from __future__ import annotations

import pytest
from family_cases import CASES, DECODERS
from training_steps import compare

from keras_transformers.checkpoints.settings.names import FAMILIES

pytestmark = pytest.mark.parity
BOUND = 1e-4
TASKS = ("causal_lm", "classification")
STEPS = [(name, task) for name in DECODERS for task in TASKS if task in FAMILIES[CASES[name].family].tasks]


@pytest.mark.parametrize(("name", "task"), STEPS, ids=[f"{name}-{task}" for name, task in STEPS])
def test_gradients_of_a_step(tmp_path, ours, theirs, name, task):
    found = compare(tmp_path, ours, theirs, CASES[name].compared(), task, rows=3, length=21, gain=1.0)
    assert found["gradients"] < BOUND
