"""What makes training steps fast on this machine: the dtype policy, and whether XLA compiles them."""

from __future__ import annotations

from pathlib import Path

import keras

BFLOAT16 = ("amx_bf16", "avx512_bf16")  # flags of processors that multiply bfloat16 themselves
SMALL_STEP = 200_000  # tokens times width: XLA makes smaller steps faster and larger ones slower (docs: from_text)


def suited_dtype(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the dtype policy that trains fastest: `"mixed_bfloat16"` on accelerators and on processors that multiply
    bfloat16 (two thirds of float32's time), else `"float32"`.

    Args:
        cpuinfo: What Linux says of the processor.
    """
    if _has_accelerator():
        return "mixed_bfloat16"
    try:
        flags = cpuinfo.read_text(encoding="utf-8", errors="replace").split()
    except OSError:  # not on Linux
        return "float32"
    return "mixed_bfloat16" if set(BFLOAT16) & set(flags) else "float32"


def suits_xla(tokens: int, width: int, model: str) -> bool:
    """Return whether XLA makes steps faster, once they are compiled.

    Args:
        tokens: Of a step, all of one shape.
        width: Of the model.
        model: A name of `new_models.MODELS`; XLA is slow at recurrent layers.
    """
    return model != "lstm" and (_has_accelerator() or tokens * width <= SMALL_STEP)


def _has_accelerator() -> bool:
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU") or tf.config.list_physical_devices("TPU"))
