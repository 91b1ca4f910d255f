"""The layers in place of self-attention, by name."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformers.layers.interface.input_checks import check_choice
from keras_transformers.layers.mixers.convolution import Convolution
from keras_transformers.layers.mixers.gated_delta import GatedDelta
from keras_transformers.layers.mixers.recurrence import CELLS, Recurrence
from keras_transformers.layers.mixers.short_convolution import ShortConvolution

MIXERS = (*CELLS, "convolution")
# Of single blocks of a decoder: their caches are states.
STATE_MIXERS: dict[str, Any] = {"short_convolution": ShortConvolution, "gated_delta": GatedDelta}


def make_mixer(
    mixer: str, units: int, recurrent: dict[str, Any], kernel_size: int, gated: bool, **shared: Any
) -> keras.layers.Layer:
    """Build a mixing layer by its name.

    Args:
        mixer: One of `MIXERS`.
        units: Width of the layer.
        recurrent: Options of `Recurrence` only.
        kernel_size, gated: Options of `Convolution` only.
            **shared: Options of both.

    Raises:
        ValueError: The mixer is unknown.

    Example:

    >>> make_mixer("convolution", 8, {}, kernel_size=3, gated=False).units
    8
    """
    check_choice(mixer, MIXERS, "mixer")
    if mixer in CELLS:
        return Recurrence(mixer, units, **recurrent, **shared)
    return Convolution(units, kernel_size=kernel_size, gated=gated, **shared)
