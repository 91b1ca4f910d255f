"""Frequencies of rotary positions, and what a scaling makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from keras_transformers.config.rotary_scaling import RotaryScaling


def frequencies(rotary_dim: int, max_wavelength: float, scaling: RotaryScaling | None = None) -> tuple[np.ndarray, ...]:
    """Return the angles by which a pair of units is turned from one position to the next.

    Args:
        rotary_dim: Width of the part of a head that is rotated, H.
        max_wavelength: Base of the geometric series of wavelengths.
        scaling: Scale of the positions.

    Returns:
        One array, float32 (H / 2,), or two: of short texts, and of long ones.

    Example:

    >>> frequencies(4, 10_000.0)[0].tolist()
    [1.0, 0.009999999776482582]
    """
    # Rounded after each step, as in Llama's release code: without, the angle at position 8,000 differs by 5e-4.
    # The power is taken in float64: NumPy's of float32 is off by one unit in the last place on some processors.
    exponents = np.arange(0, rotary_dim, 2, dtype="float32") / rotary_dim
    wavelengths = np.power(float(max_wavelength), exponents.astype("float64")).astype("float32")
    if scaling is None:
        return (1 / wavelengths,)
    if scaling.by_length:
        divisors = np.array([scaling.short_factors, scaling.long_factors], "float32")  # (2, H / 2)
        return tuple(1 / (divisors * wavelengths))
    scale: Callable = {"linear": _linear, "llama3": _llama3, "yarn": _yarn}[scaling.kind]
    return (scale(wavelengths, max_wavelength, scaling).astype("float32"),)


def _linear(wavelengths: np.ndarray, max_wavelength: float, scaling: RotaryScaling) -> np.ndarray:
    return 1 / wavelengths / np.float32(scaling.factor)


def _llama3(wavelengths: np.ndarray, max_wavelength: float, scaling: RotaryScaling) -> np.ndarray:
    """Divide frequencies of few turns within the original length, keep frequencies of many, and blend between."""
    low, high, factor = map(np.float32, (scaling.low_frequency_factor, scaling.high_frequency_factor, scaling.factor))
    kept = 1 / wavelengths
    turns = np.float32(scaling.original_length) / (np.float32(2 * math.pi) / kept)
    share = np.clip((turns - low) / (high - low), 0, 1)  # 1 where the frequency is kept
    return (1 - share) * kept / factor + share * kept


def _yarn(wavelengths: np.ndarray, max_wavelength: float, scaling: RotaryScaling) -> np.ndarray:
    """Blend from kept to divided frequencies by a ramp over their numbers."""
    width = 2 * len(wavelengths)

    def number_of(turns):
        turn = scaling.original_length / (turns * 2 * math.pi)
        return width * math.log(turn) / (2 * math.log(max_wavelength))

    first, last = number_of(scaling.beta_fast), number_of(scaling.beta_slow)
    if scaling.truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, width - 1)
    last = last + 0.001 if first == last else last  # as the release: no division by zero
    numbers = np.arange(width // 2, dtype="float32")
    kept = 1 - np.clip((numbers - np.float32(first)) / np.float32(last - first), 0, 1)
    return 1 / (np.float32(scaling.factor) * wavelengths) * (1 - kept) + 1 / wavelengths * kept
