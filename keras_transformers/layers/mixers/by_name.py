"""What blocks may have in the place of self-attention, by name."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformers.layers.interface.input_checks import check_choice
from keras_transformers.layers.mixers.convolution import Convolution
from keras_transformers.layers.mixers.recurrence import CELLS, Recurrence

MIXERS = (*CELLS, "convolution")


def make_mixer(
    mixer: str, units: int, recurrent: dict[str, Any], kernel_size: int, gated: bool, **shared: Any
) -> keras.layers.Layer:
    """Build the mixing layer of a name.

    Args:
        mixer: One of `MIXERS`.
        units: Its width.
        recurrent: Options of `Recurrence` alone.
        kernel_size, gated: Of `Convolution`.
        **shared: Of both.

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
