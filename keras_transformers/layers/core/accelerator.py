"""The device that computes: layers choose kernels and random numbers by it."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras


class Accelerator(NamedTuple):
    """A device, as far as layers choose by it."""

    platform: str = "cpu"  # or "gpu", "tpu"
    capability: float = 0.0  # compute capability of an NVIDIA GPU, such as 9.0; 0 of other devices


def accelerator() -> Accelerator:
    """Return the device that JAX computes on; the CPU on other backends, which choose for themselves.

    Example:

    >>> accelerator().platform in ("cpu", "gpu", "tpu")
    True
    """
    if keras.backend.backend() != "jax":
        return Accelerator()
    import jax

    config: Any = jax.config
    device = config.jax_default_device  # set by `keras.device`: None, a platform, or a device
    if device is None or isinstance(device, str):
        device = jax.devices(device)[0]
    is_nvidia = "cuda" in device.client.platform_version
    return Accelerator(device.platform, float(device.compute_capability) if is_nvidia else 0.0)
