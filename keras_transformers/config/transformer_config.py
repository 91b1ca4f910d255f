"""The configuration of a model: a frozen record of plain values, checked once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from keras_transformers.config.block_options import BlockOptions, make_block_options
from keras_transformers.config.choices import (
    check_blocks,
    check_choices,
    check_distances,
    check_heads,
    check_mixer,
    check_offset,
    check_sharing,
    position_kinds,
)
from keras_transformers.config.limits import check_kinds, check_limits
from keras_transformers.config.numbers import check_ids, check_numbers
from keras_transformers.utils.number_checks import is_size
from keras_transformers.utils.untrusted import brief, shown


@dataclasses.dataclass(frozen=True)
class TransformerConfig:
    """Sizes and options of a transformer.

    Made by the functions of `keras_transformers.families`, which hold the facts of each family, or by `from_dict`.

    Args:
        family: The checkpoint family, such as `"bert"`.
        kind: `"encoder"`, `"decoder"` or `"encoder_decoder"`.
        vocabulary_size: Rows of the token embedding, V.
        num_layers: Number of blocks; of the encoder's if there are two stacks.
        num_heads: Attention heads, N.
        hidden_dim: Width of the hidden states, D.
        intermediate_dim: Width inside the feed-forward layers.
        max_length: Longest sequence, in tokens.
        num_segments: Rows of the segment embedding; 0 for none.
        embedding_dim: Width of the embeddings, which a dense layer then projects to `hidden_dim` (ALBERT, ELECTRA
            small); `hidden_dim`, without projection, when None.
        num_block_groups: Number of groups of consecutive blocks whose members have the same weights (ALBERT); when
            None, each block has weights of its own.
        dropout: Rate after the embeddings and after each sublayer.
        attention_dropout: Rate on the attention weights.
        activation_dropout: Rate between the two feed-forward layers.
        pooler_dropout: Rate before the dense layer of the pooler, if the pooler is the first layer of a classifier.
        classifier_dropout: Rate before the last layer of a classifier; `dropout` when None.
        final_dropout: Whether there is dropout after the last norm of a pre-norm stack too.
        activation: Keras activation of the feed-forward layers and of the masked-LM head.
        pooler_activation: Keras activation of the pooler; of the masked-LM head too, if `head_transform` is `"all"`.
        classifier_pooling: What the classifier of an encoder reads: `"first"`, the first token; `"mean"`, the mean of
            all tokens; or `"late"`, each token, and then takes the mean of the logits (EuroBERT).
        head_transform: Which heads of an encoder begin with a dense layer, an activation and a norm: `"masked_lm"`,
            the masked LM's (BERT); `"all"`, those that read single tokens, too, and the pooler has a norm (ModernBERT);
            `"none"` (EuroBERT).
        head_bias: Whether the dense layers at the beginning of heads have biases.
        epsilon: Added to the variance in normalisations.
        norm: `"layer"` or `"rms"`.
        norm_order: `"post"` (the paper, BERT) or `"pre"`.
        mixer: The layer that mixes tokens: `"attention"`, `"simple_rnn"`, `"gru"`, `"lstm"` or `"convolution"`. Blocks
            without self-attention have no feed-forward layer; `intermediate_dim` is then the width of the states (both
            directions together) or the channels, and `num_heads` belongs to the cross-attention.
        cross_attention: Whether a decoder attends to its encoder. If not, its recurrent blocks begin with states
            computed from the encoder's last state, and the encoder reads in one direction only.
        kernel_size: Width of a convolution in tokens, an odd number.
        positions: `"learned"`, `"sinusoidal"`, `"rotary"`, `"relative"`, `"disentangled"` (DeBERTa) or `"alibi"`; with
            another mixer than attention one of the first two, or None. Or a pair of one of the first two and one of
            the others, such as MPNet's `("learned", "relative")`.
        position_offset: Row of the position table for the first token. If not 0, positions count only tokens that are
            not padding (RoBERTa), and the table has `max_length + position_offset` rows.
        position_buckets, max_distance: Sizes of `DisentangledPositions`; the second is `max_length` when None.
        position_layout: `layout` of `SinusoidalPositions`; `"interleaved"` is the paper's.
        num_kv_heads: Heads of keys and values, K; `num_heads` when None.
        head_dim: Width of a head, H; `hidden_dim // num_heads` when None.
        attention_scale: Factor of the query-key products; `1 / sqrt(head_dim)` when None.
        gated: Whether the feed-forward layers are gated.
        use_bias: Whether the dense layers of blocks have biases.
        norm_bias: Whether layer norms have biases; `use_bias` when None.
        intermediate_bias: Whether the feed-forward layers before the activation have biases; `use_bias` when None.
        initializer_range: Standard deviation of the truncated normal initialiser; None for Glorot uniform, `"fan_in"`
            for `1 / sqrt(inputs)`.
        embedding_initializer_range: The same for token embeddings; `initializer_range` when None.
        output_initializer_range: The same for the last layer of each sublayer; `initializer_range` when None.
        tie_embeddings: Whether the output projection is the token embedding.
        scale_outputs: Whether hidden states are multiplied by `1 / sqrt(hidden_dim)` before the output projection.
        output_bias: Whether the language model's logits have a bias.
        scale_embeddings: Whether token embeddings are multiplied by `sqrt(hidden_dim)`.
        embedding_norm: Whether there is a norm after the embeddings; when None, only in post-norm models.
        max_wavelength: Base of the wavelengths of rotary positions.
        rotary_scaling_factor: What rotary positions are divided by: `scaling_factor` of `RotaryPositions`.
        pad_id: Token id of padding; 0 when None, except in a decoder, which may have none.
        bos_id: Token id that texts begin with, or None.
        eos_ids: Token ids that end a text; the first is written, any of them stops generation.
        num_decoder_layers: Number of decoder blocks if there are two stacks; `num_layers` when None.
        encoder_vocabulary_size: Rows of the encoder's own token embedding; None if both stacks share one.
        decoder_start_id: First token id of a decoder that has an encoder; None if it depends on the text, as it does on
            the language in mBART.
        block_options: Options of single blocks: a tuple of `BlockOptions` or of dicts of their values, one for each
            block. A shorter tuple is repeated, in each stack; if it is empty, all blocks are alike.

    Raises:
        ValueError: A size is not a positive integer, a rate is outside [0, 1), a choice is unknown, `hidden_dim` is not
            divisible by `num_heads` and no `head_dim` is given, or a field for two stacks is given to a model of one;
            there are more `block_options` than blocks, or they are unknown or do not fit the other fields; or the sizes
            are larger than any model's (`config.limits`).

    Example:

    >>> from keras_transformers.families import bert
    >>> config = bert(vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=16)
    >>> config.head_dim, config.intermediate_dim
    (8, 64)
    >>> TransformerConfig.from_dict(config.to_dict()) == config
    True
    """

    family: str
    vocabulary_size: int
    num_layers: int
    num_heads: int
    hidden_dim: int
    intermediate_dim: int
    max_length: int
    kind: str = "encoder"
    num_segments: int = 0
    embedding_dim: int | None = None
    num_block_groups: int | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation_dropout: float = 0.0
    pooler_dropout: float = 0.0
    classifier_dropout: float | None = None
    final_dropout: bool = False
    activation: str = "gelu"
    pooler_activation: str = "tanh"
    classifier_pooling: str = "first"
    head_transform: str = "masked_lm"
    head_bias: bool = True
    epsilon: float = 1e-12
    norm: str = "layer"
    norm_order: str = "post"
    mixer: str = "attention"
    cross_attention: bool = True
    kernel_size: int = 3
    positions: str | tuple[str, ...] | None = "learned"
    position_offset: int = 0
    position_buckets: int | None = None
    max_distance: int | None = None
    position_layout: str = "interleaved"
    num_kv_heads: int = None  # type: ignore[assignment]  # filled in
    head_dim: int = None  # type: ignore[assignment]  # filled in
    attention_scale: float | None = None
    gated: bool = False
    use_bias: bool = True
    norm_bias: bool | None = None
    intermediate_bias: bool | None = None
    initializer_range: float | str | None = 0.02
    embedding_initializer_range: float | None = None
    output_initializer_range: float | None = None
    tie_embeddings: bool = True
    scale_outputs: bool = False
    output_bias: bool = False
    scale_embeddings: bool = False
    embedding_norm: bool | None = None
    max_wavelength: float = 10000.0
    rotary_scaling_factor: float = 1.0
    pad_id: int | None = None
    bos_id: int | None = None
    eos_ids: tuple[int, ...] = ()
    num_decoder_layers: int | None = None
    encoder_vocabulary_size: int | None = None
    decoder_start_id: int | None = None
    block_options: tuple[BlockOptions, ...] = ()

    __repr__ = brief

    def __post_init__(self):
        if isinstance(self.eos_ids, str) or not isinstance(self.eos_ids, Sequence):
            raise ValueError(f"eos_ids must be a list of token ids: received {shown(self.eos_ids)}.")
        self._set("eos_ids", tuple(self.eos_ids))
        if isinstance(self.positions, (list, tuple)):
            self._set(
                "positions", tuple(self.positions) if len(self.positions) > 1 else next(iter(self.positions), None)
            )
        self._set("block_options", make_block_options(self.block_options))
        if self.embedding_norm is None:
            self._set("embedding_norm", self.norm_order == "post")
        if self.kind == "encoder_decoder" and self.num_decoder_layers is None:
            self._set("num_decoder_layers", self.num_layers)
        if self.pad_id is None and self.kind != "decoder":
            self._set("pad_id", 0)
        self._set("num_kv_heads", self.num_heads if self.num_kv_heads is None else self.num_kv_heads)
        if self.head_dim is None:
            if not (is_size(self.hidden_dim) and is_size(self.num_heads)) or self.hidden_dim % self.num_heads:
                raise ValueError(
                    "hidden_dim and num_heads must be whole numbers, one divisible by the other: received hidden_dim="
                    f"{shown(self.hidden_dim)}, num_heads={shown(self.num_heads)}. Choose others or give head_dim."
                )
            self._set("head_dim", self.hidden_dim // self.num_heads)
        check_choices(self)
        check_kinds(self)
        check_numbers(self)
        check_mixer(self)
        check_sharing(self)
        check_heads(self)
        check_ids(self)
        check_blocks(self)
        check_offset(self)
        check_distances(self)
        check_limits(self)

    def _set(self, name: str, value: Any):
        object.__setattr__(self, name, value)

    @property
    def position_kinds(self) -> tuple[str, ...]:
        """Names of the kinds of positions."""
        return position_kinds(self.positions)

    @property
    def has_norm_bias(self) -> bool:
        """Return whether layer norms have biases."""
        return self.use_bias if self.norm_bias is None else self.norm_bias

    @property
    def fill_id(self) -> int:
        """The id that rows are padded with: `pad_id`, or an arbitrary one if the model has none."""
        return self.pad_id or 0

    def num_blocks(self, side: str | None = None) -> int:
        """Return the number of blocks of a stack.

        Args:
            side: `"encoder"` or `"decoder"`; may be None if there is one stack.
        """
        sides = ("encoder", "decoder") if self.kind == "encoder_decoder" else (self.kind, None)
        if side not in sides:
            raise ValueError(f"a configuration with kind={self.kind!r} has the sides {sides}: received {side!r}.")
        return self.num_decoder_layers or self.num_layers if side == "decoder" else self.num_layers

    def shared_block(self, index: int) -> int:
        """Return the number of the layer that computes a block: the block's own, or that of its group.

        Args:
            index: From 0.
        """
        return index if self.num_block_groups is None else index * self.num_block_groups // self.num_layers

    def block(self, index: int, side: str | None = None) -> BlockOptions:
        """Return the options of one block, with the configuration's values in place of None.

        Args:
            index: From 0.
            side: As for `num_blocks`.

        Returns:
            `BlockOptions`. `max_wavelength` is a number if the block has rotary positions; if not, it is None, and
            `rotary` is False.
        """
        if not 0 <= index < self.num_blocks(side):
            raise ValueError(f"expected a block in [0, {self.num_blocks(side)}): received {index!r}.")
        options = self.block_options[index % len(self.block_options)] if self.block_options else BlockOptions()
        if not (options.rotary and "rotary" in self.position_kinds):
            return dataclasses.replace(options, rotary=False, max_wavelength=None)
        return dataclasses.replace(options, max_wavelength=options.max_wavelength or self.max_wavelength)

    def replace(self, **changes: Any) -> TransformerConfig:
        """Return a copy with other values, checked again."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by field name."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TransformerConfig:
        """Build a configuration from the values of `to_dict`; an unknown key is a `ValueError`."""
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ValueError(f"unknown configuration keys {unknown}; the known ones are {sorted(known)}.")
        return cls(**values)
