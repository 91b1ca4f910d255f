"""How fast a task learns on this machine, measured before a run is planned."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import keras

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.training.optimizers.adamw import AdamW

WARM_UP, LEAST_STEPS = 2, 3
SECONDS = 3.0  # of measured steps, at least


class Speed(NamedTuple):
    """What was measured: `seconds` of a step, and `compile_seconds` until the first step is done."""

    seconds: float
    compile_seconds: float


def measure_speed(task: Any, dataset: Any, jit_compile: bool, warm_up: int = WARM_UP) -> Speed:
    """Train on some batches and take the time. The weights change: measure with a task of its own.

    Args:
        task: A `Task`.
        dataset: Batches, as from `task.dataset`.
        jit_compile: Whether XLA compiles the step.
        warm_up: Steps that are not counted; more where batches differ in their shapes, as each of the first is traced.
    """
    task.compile(AdamW(1e-5), jit_compile=jit_compile)
    batches = _endless(dataset)
    start = time.perf_counter()
    for x, y, *_ in islice(batches, warm_up):
        task.model.train_on_batch(x, y)
    compiled = time.perf_counter()

    steps = 0
    while steps < LEAST_STEPS or time.perf_counter() - compiled < SECONDS:
        x, y, *_ = next(batches)
        task.model.train_on_batch(x, y)
        steps += 1
    return Speed((time.perf_counter() - compiled) / steps, compiled - start)


def _endless(dataset: Any) -> Iterator[tuple]:
    while True:
        yield from dataset


def flops_of_step(config: TransformerConfig, parameters: int, batch_size: int) -> float:
    """Return about how many floating-point operations a training step has: six for each weight and token, and those of
    attention (Kaplan et al. 2020, https://arxiv.org/abs/2001.08361).

    Args:
        config: The model.
        parameters: Its number of parameters.
        batch_size: Rows of `config.max_length` tokens.
    """
    attention = 2 * config.num_layers * config.hidden_dim * config.max_length
    return 6.0 * batch_size * config.max_length * (parameters + attention)


def peak_memory() -> int:
    """Return the most bytes of memory that this process has had."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def count_parameters(model: keras.Model) -> int:
    """Return the number of weights that a model learns."""
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)
