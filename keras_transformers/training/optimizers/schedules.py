"""Learning rates that warm up, then decay.

Let n = 1, 2, ... be the number of the update (Keras' `step` is n - 1). All rise as `peak * n / warmup_steps`, to `peak`
at update `warmup_steps`. No update has a rate of zero. Under gradient accumulation by our `AdamW`, n counts updates,
not batches.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.utils.tensor_types import Tensor

SCHEDULES = ("linear", "cosine", "inverse_sqrt", "constant")


class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    """Base of the schedules: a linear warm-up, then `decay`.

    Args:
        peak: The largest rate.
        warmup_steps: The update that has this rate; 0 starts at the peak.
        total_steps: The last update.
    """

    initial = 0.0  # where the rise starts

    def __init__(self, peak: float, warmup_steps: int, total_steps: int):
        if not 0 <= warmup_steps <= total_steps:
            raise ValueError(
                f"Received warmup_steps={warmup_steps} and total_steps={total_steps}; expected 0 <= warmup_steps <= "
                "total_steps. total_steps is batches per epoch * epochs (/ accumulation_steps)."
            )
        self.peak, self.warmup_steps, self.total_steps = _number(peak, "peak"), int(warmup_steps), int(total_steps)

    def decay(self, n: Tensor) -> Tensor:
        """Return the factor of `peak` at update n >= warmup_steps."""
        raise NotImplementedError

    def __call__(self, step: Tensor) -> Tensor:
        n = ops.cast(step, "float32") + 1.0
        start = self.initial / self.peak if self.initial else 0.0
        factor = start + (1.0 - start) * ops.minimum(n / max(self.warmup_steps, 1), 1.0)
        return self.peak * ops.where(n < self.warmup_steps, factor, self.decay(n))

    def progress(self, n: Tensor) -> Tensor:
        """Return the fraction of the decay that is done: 0 at the peak, 1 at the first update after the last."""
        return ops.clip((n - self.warmup_steps) / (self.total_steps + 1 - self.warmup_steps), 0.0, 1.0)

    def get_config(self) -> dict[str, Any]:
        return {"peak": self.peak, "warmup_steps": self.warmup_steps, "total_steps": self.total_steps}


@keras.saving.register_keras_serializable("keras_transformers")
class WarmupLinear(Warmup):
    """Linear warm-up and linear decay, to 0 at the first update after `total_steps`. BERT's schedule.

    Update n > warmup_steps has `peak * (total_steps + 1 - n) / (total_steps + 1 - warmup_steps)`.
    Paper: Devlin et al. 2018, https://arxiv.org/abs/1810.04805.

    Args:
        peak: The largest rate.
        warmup_steps: The update that has this rate; 0 starts at the peak.
        total_steps: The last update.

    Raises:
        ValueError: If not 0 <= warmup_steps <= total_steps.

    Example:

    >>> rate = WarmupLinear(peak=1.0, warmup_steps=2, total_steps=5)
    >>> [round(float(rate(step)), 4) for step in range(6)]
    [0.5, 1.0, 0.75, 0.5, 0.25, 0.0]
    """

    def decay(self, n: Tensor) -> Tensor:
        return 1.0 - self.progress(n)


@keras.saving.register_keras_serializable("keras_transformers")
class WarmupCosine(Warmup):
    """Linear warm-up, then decay along half a cosine, to 0 at the first update after `total_steps`.

    Update n > warmup_steps has `peak * (1 + cos(pi * (n - warmup_steps) / (total_steps + 1 - warmup_steps))) / 2`.
    Paper: Loshchilov and Hutter 2016, https://arxiv.org/abs/1608.03983.

    Args:
        peak: The largest rate.
        warmup_steps: The update that has this rate; 0 starts at the peak.
        total_steps: The last update.

    Raises:
        ValueError: If not 0 <= warmup_steps <= total_steps.

    Example:

    >>> rate = WarmupCosine(peak=1.0, warmup_steps=2, total_steps=5)
    >>> [round(float(rate(step)), 4) for step in range(6)]
    [0.5, 1.0, 0.8536, 0.5, 0.1464, 0.0]
    """

    def decay(self, n: Tensor) -> Tensor:
        return 0.5 * (1.0 + ops.cos(math.pi * self.progress(n)))


@keras.saving.register_keras_serializable("keras_transformers")
class WarmupInverseSqrt(Warmup):
    """Linear warm-up, then decay with the inverse square root of the update's number, which never reaches 0.

    Update n > warmup_steps has `peak * sqrt(warmup_steps / n)`. The paper's schedule (Noam),
    `D**-0.5 * min(n**-0.5, n * warmup_steps**-1.5)`, is this one with `peak = (D * warmup_steps)**-0.5`.
    Paper: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 5.3.

    Args:
        peak: The largest rate.
        warmup_steps: The update that has this rate; at least 1.
        initial: Learning rate at the start of the rise: update n <= warmup_steps has `initial + (peak - initial) * n /
            warmup_steps`. fairseq's `inverse_sqrt` with `--warmup-init-lr` is the same one update later: its first
            update has the rate `initial`.

    Raises:
        ValueError: If `warmup_steps` < 1, or not 0 <= initial <= peak.

    Example:

    >>> rate = WarmupInverseSqrt(peak=1.0, warmup_steps=4)
    >>> [round(float(rate(step)), 4) for step in (0, 3, 15)]
    [0.25, 1.0, 0.5]
    """

    def __init__(self, peak: float, warmup_steps: int, initial: float = 0.0):
        if warmup_steps < 1:
            raise ValueError(f"Received warmup_steps={warmup_steps}; expected at least 1: the rate falls from there.")
        if not 0.0 <= initial <= peak:
            raise ValueError(f"Received initial={initial} and peak={peak}; expected 0 <= initial <= peak.")
        super().__init__(peak, warmup_steps, warmup_steps)
        self.initial = float(initial)

    def decay(self, n: Tensor) -> Tensor:
        return ops.sqrt(self.warmup_steps / n)

    def get_config(self) -> dict[str, Any]:
        return {"peak": self.peak, "warmup_steps": self.warmup_steps, "initial": self.initial}


def make_schedule(name: str, peak: float, warmup: float, steps: int) -> Any:
    """Return a learning rate for `steps` updates.

    Args:
        name: One of `SCHEDULES`.
        peak: The largest rate; or a Keras schedule, which is returned as it is.
        warmup: Fraction of the updates, in [0, 1), in which the rate rises; `"constant"` ignores it.
        steps: Total number of updates.

    Returns:
        A number or a Keras schedule.

    Raises:
        ValueError: The name is unknown, `peak` is no positive number, `warmup` is not in [0, 1), or there are two
            schedules.

    Example:

    >>> round(float(make_schedule("linear", 1e-3, 0.1, 100)(9)), 4)
    0.001
    """
    if name not in SCHEDULES:
        raise ValueError(
            f"schedule must be one of {SCHEDULES}: received {name!r}. A schedule of Keras is given as learning_rate."
        )
    if isinstance(peak, keras.optimizers.schedules.LearningRateSchedule):
        if name in ("cosine", "inverse_sqrt"):
            raise ValueError(f"received schedule={name!r}, and a schedule as learning_rate, {peak}: leave one out.")
        return peak
    peak = _number(peak, "learning_rate")
    if not (isinstance(warmup, numbers.Real) and 0 <= warmup < 1):
        raise ValueError(f"warmup must be a fraction of the steps, in [0, 1): received {warmup!r}.")
    warmup_steps = math.ceil(warmup * steps)
    if name == "constant":
        return peak
    if name == "inverse_sqrt":
        return WarmupInverseSqrt(peak, max(1, warmup_steps))
    return {"linear": WarmupLinear, "cosine": WarmupCosine}[name](peak, warmup_steps, steps)


def _number(rate: Any, name: str) -> float:
    """Return the rate as a float; scalars of NumPy and of the backend are converted."""
    number = np.asarray(rate)
    if number.ndim or number.dtype.kind not in "iuf" or not 0 < number < math.inf:
        or_schedule = ", or a keras.optimizers.schedules.LearningRateSchedule" if name == "learning_rate" else ""
        raise ValueError(f"{name} must be a positive number, such as 5e-5{or_schedule}: received {rate!r}.")
    return float(number)
