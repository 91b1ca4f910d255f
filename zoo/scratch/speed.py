"""The speed of training on this machine: the dtype and the compiler that make it fast, and its measurement."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_transformers.training.optimizers.adamw import AdamW
from keras_transformers.training.workers.distribute import num_workers, scope, sum_over_replicas
from keras_transformers.utils.keras_private import strategy_of

WARM_UP, LEAST_STEPS, SECONDS = 2, 3, 3.0  # steps before the clock starts; steps and seconds that it runs, at least
MOST_STEPS, MOST_EPOCHS = 100, 1_000  # the timer ends `fit` before
BFLOAT16 = ("amx_bf16", "avx512_bf16")  # flags of processors that multiply bfloat16 themselves
WORKERS_STEPS = 6  # of several workers, which must stop at the same step


class Speed(NamedTuple):
    """The measured speed: `seconds` of a step, `compile_seconds` until the first steps are done, and `peak_memory`."""

    seconds: float
    compile_seconds: float
    peak_memory: int | None


class StepTimer(keras.callbacks.Callback):
    """A callback that takes the time of some steps, and then ends `fit`.

    Args:
        least_steps: Steps to measure, after the warm-up.
        seconds: Time to measure, at least.
        warm_up: Steps before the clock starts.
        most: Seconds from now on, with the warm-up, after which one step to warm up and a measured one are enough.
    """

    def __init__(
        self, least_steps: int = LEAST_STEPS, seconds: float = SECONDS, warm_up: int = WARM_UP, most: float = math.inf
    ):
        super().__init__()
        self.least_steps, self.seconds, self.most = least_steps, seconds, most
        self.start = self.begin = self.end = time.perf_counter()
        self.steps = -warm_up  # that are measured

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self.end, self.steps = time.perf_counter(), self.steps + 1
        is_late = self.end - self.start >= self.most
        if self.steps == 0 or (self.steps < 0 and is_late):
            self.begin, self.steps = self.end, 0
        is_enough = self.steps >= self.least_steps and self.end - self.begin >= self.seconds
        if is_enough or (self.steps >= 1 and is_late):
            self.model.stop_training = True


def measure_speed(
    task: Any, dataset: Any, jit_compile: bool, warm_up: int = WARM_UP, most: float = math.inf
) -> Speed:  # fmt: skip
    """Train on some batches and take the time. The weights change: measure with a separate task.

    Args:
        task: A `Task`.
        dataset: Data set with the batches.
        jit_compile: Whether XLA compiles the step.
        warm_up: Steps that are not counted; more where batches differ in their shapes, as each of the first is traced.
        most: Seconds, about, that it may take; several workers, whose steps are counted, may take more.

    Returns:
        A `Speed`; its times are the same on every worker.
    """
    strategy = strategy_of(task.model)
    with scope(strategy):
        task.compile(AdamW(1e-5), jit_compile=jit_compile)
    if num_workers(strategy) > 1:
        timer = StepTimer(WORKERS_STEPS, 0.0, warm_up)
    else:
        timer = StepTimer(LEAST_STEPS, min(SECONDS, most / 4), warm_up, most)
    start = time.perf_counter()
    task.model.fit(dataset, epochs=MOST_EPOCHS, verbose=0, shuffle=False, callbacks=[timer])
    replicas = sum_over_replicas(strategy, 1)
    times = ((timer.end - timer.begin) / max(timer.steps, 1), timer.begin - start)
    seconds, compile_seconds = (sum_over_replicas(strategy, round(1e6 * time)) / 1e6 / replicas for time in times)
    return Speed(seconds, compile_seconds, peak_memory())


def peak_memory() -> int | None:
    """Return the most main memory that this process has had so far, in bytes; None on systems that do not tell it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak  # macOS counts bytes, Linux units of 1,024


def count_parameters(model: keras.Model) -> int:
    """Return the number of weights that a model learns."""
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)


def suited_dtype(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the dtype policy that trains fastest: `"mixed_bfloat16"` on accelerators and on processors that multiply
    bfloat16 (two thirds of float32's time), else `"float32"`.

    Args:
        cpuinfo: Description of the processor by Linux.
    """
    if _has_accelerator():
        return "mixed_bfloat16"
    try:
        flags = cpuinfo.read_text(encoding="utf-8", errors="replace").split()
    except OSError:  # not on Linux
        return "float32"
    return "mixed_bfloat16" if set(BFLOAT16) & set(flags) else "float32"


def check_dtype(name: str) -> None:
    """Raise a `ValueError` for what is no dtype policy to train in.

    Example:

    >>> check_dtype("mixed_bfloat16")
    """
    try:
        policy = keras.dtype_policies.get(name)
    except (ValueError, TypeError):
        policy = None
    if policy is None or policy.quantization_mode or "float" not in policy.compute_dtype:
        raise ValueError(
            f"--dtype must be a Keras dtype policy of floats, such as float32, mixed_bfloat16 or mixed_float16: "
            f"received {name!r}."
        )


def suits_xla(model: str, strategy: Any) -> bool:
    """Return whether XLA makes steps faster, once they are compiled: on an accelerator. On CPUs it makes all but the
    smallest models slower, and the first step takes seconds longer.

    Args:
        model: A name of `new_models.MODELS`; XLA is slow at recurrent layers.
        strategy: A `tf.distribute` strategy, whose sums over replicas it does not compile everywhere, or None.
    """
    return model != "lstm" and strategy is None and _has_accelerator()


def _has_accelerator() -> bool:
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU") or tf.config.list_physical_devices("TPU"))
