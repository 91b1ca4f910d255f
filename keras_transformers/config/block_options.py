"""Options of single blocks, for stacks whose blocks differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformers.config.choices import BLOCK_MIXERS
from keras_transformers.config.rotary_scaling import RotaryScaling, make_scaling
from keras_transformers.utils.number_checks import is_finite, is_size
from keras_transformers.utils.untrusted import shown


@dataclasses.dataclass(frozen=True)
class BlockOptions:
    """Options of one block: plain values, checked once.

    Used by models whose blocks alternate: windows and full attention (Gemma, ModernBERT), two rotary bases (Gemma 3),
    blocks without positions (SmolLM3), a first block without its attention norm (ModernBERT), blocks with a state in
    place of attention (LFM2).
    Papers: windows, Beltagy et al. 2020, https://arxiv.org/abs/2004.05150; blocks without positions, Kazemnejad et al.
    2023, https://arxiv.org/abs/2305.19466.

    Args:
        attention_window: Size of the window of the self-attention, in tokens; None for full attention. In a decoder a
            query at q sees the keys at k with `0 <= q - k < attention_window`, in an encoder those with
            `abs(q - k) <= attention_window // 2`.
        max_wavelength: Base of the wavelengths of rotary positions; the configuration's when None.
        rotary_scaling: Scale of rotary positions: a `RotaryScaling` or a dict of its values; the configuration's when
            None.
        rotary: Whether the block has the rotary positions of the configuration; False for a block without positions.
        attention_norm: Whether a pre-norm block has the norm before the self-attention.
        mixer: `"attention"`, or in a decoder a mixer of `StateDecoderBlock`: `"short_convolution"`, `"gated_delta"`.

    Raises:
        ValueError: An option is not of its type, or a block without rotary positions has a `max_wavelength` or a
            `rotary_scaling`, or a block without attention has an option of it.

    Example:

    >>> BlockOptions(attention_window=512, max_wavelength=1000).max_wavelength
    1000.0
    """

    attention_window: int | None = None
    max_wavelength: float | None = None
    rotary: bool = True
    attention_norm: bool = True
    rotary_scaling: RotaryScaling | None = None
    mixer: str = "attention"

    def __post_init__(self):
        if self.attention_window is not None:
            if not is_size(self.attention_window):
                raise ValueError(
                    f"attention_window must be a positive integer, or None for full attention: received "
                    f"{shown(self.attention_window)}."
                )
            object.__setattr__(self, "attention_window", int(self.attention_window))
        if self.max_wavelength is not None:
            self._check_wavelength()
            object.__setattr__(self, "max_wavelength", float(self.max_wavelength))
        if self.rotary_scaling is not None:
            object.__setattr__(self, "rotary_scaling", make_scaling(self.rotary_scaling))
            if self.rotary is False:
                raise ValueError("a block with rotary=False has no rotary_scaling: received both. Give one of them.")
        for name in ("rotary", "attention_norm"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} of a block must be True or False: received {shown(getattr(self, name))}.")
        if self.mixer not in BLOCK_MIXERS:
            raise ValueError(f"mixer of a block must be one of {BLOCK_MIXERS}: received {shown(self.mixer)}.")
        plain = (None, None, None, True)
        own = (self.attention_window, self.max_wavelength, self.rotary_scaling, self.attention_norm)
        if self.mixer != "attention" and own != plain:
            raise ValueError(
                f"a block with mixer={self.mixer!r} has no attention: received attention_window, max_wavelength, "
                f"rotary_scaling, attention_norm = {own}. Leave them out."
            )

    def _check_wavelength(self):
        value = self.max_wavelength
        if value is None or not (is_finite(value) and value > 0):
            raise ValueError(f"max_wavelength of a block must be a positive number: received {shown(value)}.")
        if self.rotary is False:
            raise ValueError(
                f"a block with rotary=False has no wavelengths: received max_wavelength={value}. Give one of them."
            )


def make_block_options(values: Any) -> tuple[BlockOptions, ...]:
    """Convert a list of `BlockOptions`, or of dicts of their values, to a tuple of `BlockOptions`.

    Args:
        values: A list or tuple.

    Raises:
        ValueError: `values` is no list or tuple, a member is neither `BlockOptions` nor a dict, or an option is wrong.

    Example:

    >>> make_block_options([{"attention_window": 8}])[0].attention_window
    8
    """
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ValueError(
            f"block_options must be a list of BlockOptions or dicts, one for each block: received {shown(values)}. "
            "Put it into a list."
        )
    return tuple(value if isinstance(value, BlockOptions) else _from_dict(value) for value in values)


def _from_dict(values: Any) -> BlockOptions:
    known = [field.name for field in dataclasses.fields(BlockOptions)]
    if not isinstance(values, Mapping):
        raise ValueError(f"block_options must hold dicts or BlockOptions: received {shown(values)}.")
    if unknown := sorted(set(values) - set(known), key=str):
        raise ValueError(f"unknown options of a block {shown(unknown)}; the known ones are {known}.")
    return BlockOptions(**values)
