"""Learning rates by name, for `Task.fit`."""

from __future__ import annotations

import math
from typing import Any

from keras_transformers.training.schedules import WarmupCosine, WarmupInverseSqrt, WarmupLinear

SCHEDULES = ("linear", "cosine", "inverse_sqrt", "constant")


def make_schedule(name: str, peak: float, warmup: float, steps: int) -> Any:
    """A learning rate for `steps` updates.

    Args:
        name: One of `SCHEDULES`.
        peak: The largest rate.
        warmup: Part of the steps, in [0, 1), in which the rate rises; `"constant"` has none.
        steps: Updates in all.

    Returns:
        A number or a Keras schedule.

    Raises:
        ValueError: The name is unknown, or `warmup` is no part.

    Example:

    >>> round(float(make_schedule("linear", 1e-3, 0.1, 100)(9)), 4)
    0.001
    """
    if name not in SCHEDULES:
        raise ValueError(f"schedule must be one of {SCHEDULES}: received {name!r}.")
    if not 0 <= warmup < 1:
        raise ValueError(f"warmup is a part of the steps, in [0, 1): received {warmup!r}.")
    warmup_steps = math.ceil(warmup * steps)
    if name == "constant":
        return peak
    if name == "inverse_sqrt":
        return WarmupInverseSqrt(peak, max(1, warmup_steps))
    return {"linear": WarmupLinear, "cosine": WarmupCosine}[name](peak, warmup_steps, steps)
