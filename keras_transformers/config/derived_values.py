"""The values of a configuration that follow from its fields."""

from __future__ import annotations

import dataclasses

from keras_transformers.config.block_options import BlockOptions
from keras_transformers.config.choices import position_kinds
from keras_transformers.config.rotary_scaling import RotaryScaling, rotary_width


class DerivedValues:
    """The base class of `TransformerConfig`: values that follow from its fields, of the model and of each block."""

    kind: str
    num_layers: int
    num_heads: int
    hidden_dim: int
    embedding_dim: int | None
    num_block_groups: int | None
    num_decoder_layers: int | None
    positions: str | tuple[str, ...] | None
    head_dim: int
    partial_rotary_factor: float
    max_wavelength: float
    rotary_scaling: RotaryScaling | None
    pad_id: int | None
    block_options: tuple[BlockOptions, ...]

    @property
    def position_kinds(self) -> tuple[str, ...]:
        """Names of the kinds of positions."""
        return position_kinds(self.positions)

    @property
    def rotary_dim(self) -> int:
        """Width of the part of a head that rotary positions turn."""
        return rotary_width(self.head_dim, self.partial_rotary_factor)

    @property
    def fill_id(self) -> int:
        """Return the id that rows are padded with: `pad_id`, or an arbitrary one if the model has none."""
        return self.pad_id or 0

    @property
    def output_dim(self) -> int:
        """Width of the last hidden states: `hidden_dim`, but in a decoder with an `embedding_dim`."""
        return self.embedding_dim or self.hidden_dim if self.kind == "decoder" else self.hidden_dim

    def num_blocks(self, side: str | None = None) -> int:
        """Return the number of blocks of a stack.

        Args:
            side: `"encoder"` or `"decoder"`; may be None if there is one stack.
        """
        sides = ("encoder", "decoder") if self.kind == "encoder_decoder" else (self.kind, None)
        if side not in sides:
            raise ValueError(f"a configuration with kind={self.kind!r} has the sides {sides}: received {side!r}.")
        return self.num_decoder_layers or self.num_layers if side == "decoder" else self.num_layers

    @property
    def has_states(self) -> bool:
        """Return whether any block has a mixer with a state in place of attention."""
        return any(options.mixer != "attention" for options in self.block_options)

    def shared_block(self, index: int) -> int:
        """Return the number of the layer that computes a block: the block's own, or that of its group.

        Args:
            index: Number of the block, from 0.
        """
        return index if self.num_block_groups is None else index * self.num_block_groups // self.num_layers

    def block(self, index: int, side: str | None = None) -> BlockOptions:
        """Return the options of one block, with the configuration's values in place of None.

        Args:
            index: Number of the block, from 0.
            side: As for `num_blocks`.

        Returns:
            `BlockOptions`. `max_wavelength` is a number if the block has rotary positions; if not, it and
            `rotary_scaling` are None, and `rotary` is False.
        """
        if not 0 <= index < self.num_blocks(side):
            raise ValueError(f"expected a block in [0, {self.num_blocks(side)}): received {index!r}.")
        options = self.block_options[index % len(self.block_options)] if self.block_options else BlockOptions()
        is_turned = options.rotary and options.mixer == "attention" and "rotary" in self.position_kinds
        if not is_turned:
            return dataclasses.replace(options, rotary=False, max_wavelength=None, rotary_scaling=None)
        scaling = options.rotary_scaling or self.rotary_scaling
        base = options.max_wavelength or self.max_wavelength
        return dataclasses.replace(options, max_wavelength=base, rotary_scaling=scaling)
