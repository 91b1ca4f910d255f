"""Rotary positions: queries and keys are rotated by an angle that grows with the position."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.layers.interface.input_checks import check_positions, check_sizes, format_shape
from keras_transformers.layers.interface.layer_options import Positional
from keras_transformers.utils.tensor_types import Tensor, may_be_equal


@keras.saving.register_keras_serializable("keras_transformers")
class RotaryPositions(Positional):
    """Cosines and sines of rotary position embedding, computed once for all blocks.

    Products of rotated queries and keys depend on the distance of their positions only. The layout is GPT-NeoX' and
    Llama's: the first half of a head is paired with the second half.
    Paper: Su et al. 2021, https://arxiv.org/abs/2104.09864.

    Args:
        head_dim: Width of a head, H; even.
        max_wavelength: Base of the geometric series of wavelengths (`rope_theta`).
        scaling_factor: Divisor of the positions, which gives longer texts the angles of shorter ones; 1 for no scaling.
            Paper: Chen et al. 2023, https://arxiv.org/abs/2306.15595.

    Call arguments:
        positions: Integer (1|B, T).

    Returns:
        A pair `(cosines, sines)`, each float32 (1|B, T, H / 2), for `Attention(rotary=...)`.

    Raises:
        ValueError: `head_dim` is odd.

    Example:

    >>> cosines, sines = RotaryPositions(head_dim=8)(np.arange(3)[None])
    >>> tuple(cosines.shape)
    (1, 3, 4)
    """

    def __init__(self, head_dim: int, max_wavelength: float = 10000.0, scaling_factor: float = 1.0, **kwargs: Any):
        super().__init__(**kwargs)
        check_sizes(head_dim=head_dim)
        if head_dim % 2:
            raise ValueError(f"rotary positions pair the units of a head: head_dim must be even, received {head_dim}.")
        self.head_dim = head_dim
        self.max_wavelength, self.scaling_factor = max_wavelength, scaling_factor

    def call(self, positions):
        check_positions(positions=positions)
        # Rounded after each step, as in Llama's release code: without, the angle at position 8,000 differs by 5e-4.
        # The power is taken in float64: NumPy's of float32 is off by one unit in the last place on some processors.
        exponents = np.arange(0, self.head_dim, 2, dtype="float32") / self.head_dim
        frequencies = 1 / np.power(float(self.max_wavelength), exponents.astype("float64")).astype("float32")
        frequencies = frequencies / np.float32(self.scaling_factor)  # (H / 2,)
        angles = ops.expand_dims(ops.cast(positions, "float32"), -1) * frequencies  # (1|B, T, H / 2)
        return ops.cos(angles), ops.sin(angles)

    def compute_output_spec(self, positions):
        check_positions(positions=positions)
        shape = (*positions.shape, self.head_dim // 2)
        return keras.KerasTensor(shape, dtype="float32"), keras.KerasTensor(shape, dtype="float32")


def rotate(x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate queries or keys by the angles of their positions.

    Args:
        x: (B, N, T, H).
        rotary: Cosines and sines, each (1|B, T, H / 2).

    Returns:
        (B, N, T, H), of the dtype of `x`.
    """
    # A half-precision layer has cast the cosines to its own dtype, as it does with all its inputs.
    cosines, sines = (ops.cast(ops.expand_dims(part, 1), "float32") for part in rotary)  # (1|B, 1, T, H / 2)
    first, second = ops.split(ops.cast(x, "float32"), 2, axis=-1)  # (B, N, T, H / 2)
    turned = ops.concatenate([first * cosines - second * sines, second * cosines + first * sines], axis=-1)
    return ops.cast(turned, x.dtype)


def check_rotary(rotary: tuple[Tensor, Tensor], length: int | None, head_dim: int, context: Tensor | None) -> None:
    """Check that rotary positions fit the tokens and the heads.

    Args:
        rotary: Cosines and sines, each (1|B, T, H / 2).
        length: T, None if unknown.
        head_dim: H.
        context: The call's `context`: keys of cross-attention have other positions than queries.

    Raises:
        ValueError: They are no pair, have other sizes, or are given with a context.

    Example:

    >>> check_rotary(RotaryPositions(head_dim=8)(np.arange(3)[None]), 3, 8, None)
    """
    if context is not None:
        raise ValueError("rotary positions need self-attention: received a context, whose keys have other positions.")
    parts = rotary if isinstance(rotary, (tuple, list)) else [rotary]
    shapes, expected = [tuple(part.shape) for part in parts], (None, length, head_dim // 2)
    if len(shapes) != 2 or not all(may_be_equal(shape, expected) for shape in shapes):
        raise ValueError(
            f"rotary must be a pair (cosines, sines), each (1 or batch, {length or '?'}, {head_dim // 2}), as "
            f"RotaryPositions(head_dim={head_dim}) gives them for the positions of hidden_states: received "
            f"{', '.join(map(format_shape, shapes))}."
        )
