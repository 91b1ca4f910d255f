"""Rotary positions: queries and keys are rotated by an angle that grows with the position."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.config.rotary_scaling import check_scaling, make_scaling
from keras_transformers.layers.interface.input_checks import check_positions, check_sizes, format_shape
from keras_transformers.layers.interface.layer_options import Positional
from keras_transformers.layers.positions.frequencies import frequencies
from keras_transformers.utils.tensor_types import Tensor, may_be_equal


@keras.saving.register_keras_serializable("keras_transformers")
class RotaryPositions(Positional):
    """Cosines and sines of rotary position embedding, computed once for all blocks.

    Products of rotated queries and keys depend on the distance of their positions only. The layout is GPT-NeoX' and
    Llama's: the first half of a head is paired with the second half.
    Paper: Su et al. 2021, https://arxiv.org/abs/2104.09864.

    Args:
        head_dim: Width of a head, H, or of its first units, if only these are rotated; even.
        max_wavelength: Base of the geometric series of wavelengths (`rope_theta`).
        scaling: Scale of the positions, for longer texts than in the first training: a dict of the values of
            `config.RotaryScaling`; None for none.

    Call arguments:
        positions: Integer (1|B, T).
        lengths: Integer (1|B, 1|T), the number of tokens of each token's text, for a scaling that depends on it; the
            largest position of the row + 1 when None.

    Returns:
        A pair `(cosines, sines)`, each float32 (1|B, T, H / 2), for `Attention(rotary=...)`.

    Raises:
        ValueError: `head_dim` is odd, or `scaling` does not fit it.

    Example:

    >>> cosines, sines = RotaryPositions(head_dim=8)(np.arange(3)[None])
    >>> tuple(cosines.shape)
    (1, 3, 4)
    """

    def __init__(self, head_dim: int, max_wavelength: float = 10000.0, scaling: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        check_sizes(head_dim=head_dim)
        if head_dim % 2:
            raise ValueError(f"rotary positions pair the units of a head: head_dim must be even, received {head_dim}.")
        self.head_dim = head_dim
        self.max_wavelength, self.scaling = max_wavelength, make_scaling(scaling)
        check_scaling(self.scaling, head_dim)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> RotaryPositions:
        """Build the layer from its configuration, in files of version 0.2.0 with a `scaling_factor`."""
        factor = config.get("scaling_factor", 1.0)
        linear = {} if factor == 1 else {"scaling": {"kind": "linear", "factor": factor}}
        return cls(**{name: value for name, value in config.items() if name != "scaling_factor"} | linear)

    def call(self, positions, lengths=None):
        check_positions(positions=positions)
        angles = ops.expand_dims(ops.cast(positions, "float32"), -1) * self._frequencies(positions, lengths)
        factor = 1.0 if self.scaling is None else self.scaling.multiplier
        return ops.cos(angles) * factor, ops.sin(angles) * factor  # (1|B, T, H / 2)

    def _frequencies(self, positions: Tensor, lengths: Tensor | None) -> Tensor:
        """Return the angle of one position, (H / 2,), or (1|B, 1|T, H / 2) by the lengths of texts."""
        short, *long = frequencies(self.head_dim, self.max_wavelength, self.scaling)
        if self.scaling is None or not long:
            return short
        if lengths is None:
            lengths = ops.max(positions, axis=1, keepdims=True) + 1  # (1|B, 1)
        return ops.where(ops.expand_dims(lengths > self.scaling.original_length, -1), long[0], short)

    def compute_output_spec(self, positions, lengths=None):
        check_positions(positions=positions)
        shape = (*positions.shape, self.head_dim // 2)
        return keras.KerasTensor(shape, dtype="float32"), keras.KerasTensor(shape, dtype="float32")


def rotate(x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate queries or keys by the angles of their positions.

    Args:
        x: (B, N, T, H).
        rotary: Cosines and sines, each (1|B, T, H / 2); a narrower pair turns the first units of a head.

    Returns:
        (B, N, T, H), of the dtype of `x`.
    """
    # A half-precision layer has cast the cosines to its own dtype, as it does with all its inputs.
    cosines, sines = (ops.cast(ops.expand_dims(part, 1), "float32") for part in rotary)  # (1|B, 1, T, H / 2)
    half = cosines.shape[-1]
    wide = ops.cast(x, "float32")
    first, second, rest = wide[..., :half], wide[..., half : 2 * half], wide[..., 2 * half :]  # (B, N, T, H / 2) each
    turned = [first * cosines - second * sines, second * cosines + first * sines]
    return ops.cast(ops.concatenate([*turned, rest] if rest.shape[-1] else turned, axis=-1), x.dtype)


def check_rotary(rotary: tuple[Tensor, Tensor], length: int | None, head_dim: int, context: Tensor | None) -> None:
    """Check that rotary positions fit the tokens and the heads.

    Args:
        rotary: Cosines and sines, each (1|B, T, H / 2).
        length: T, None if unknown.
        head_dim: H, the width of the part of a head that is rotated.
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
