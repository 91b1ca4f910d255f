"""Settings that make training steps fast on this machine: the dtype policy, and whether XLA compiles them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras

BFLOAT16 = ("amx_bf16", "avx512_bf16")  # flags of processors that multiply bfloat16 themselves


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
