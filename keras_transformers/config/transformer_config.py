"""The configuration of a model: a frozen record of plain values, checked once."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from keras_transformers.config.block_options import BlockOptions
from keras_transformers.config.choices import (
    CLASSIFIER_POOLINGS,
    HEAD_NORMS,
    HEAD_TRANSFORMS,
    KINDS,
    MIXERS,
    NORM_ORDERS,
    NORMS,
    POSITION_LAYOUTS,
    check_combinations,
    check_positions,
)
from keras_transformers.config.derived_values import DerivedValues
from keras_transformers.config.fields import (
    AT_LEAST_ZERO,
    COUNT,
    FINITE,
    INITIALIZER_RANGE,
    NUM_BLOCKS,
    POSITIVE,
    RATE,
    SHARE,
    SIZE,
    SWITCH,
    TEXT,
    TOKEN_ID,
    TOKEN_IDS,
    BlockArgument,
    Needs,
    check_fields,
    check_needs,
    one_of,
)
from keras_transformers.config.filled_values import BIASES, check_use_bias, fill_values, has_biases
from keras_transformers.config.limits import check_limits
from keras_transformers.config.rotary_scaling import RotaryScaling
from keras_transformers.utils.untrusted import brief

EVERY_BLOCK, SUBLAYERS = BlockArgument(("attention", "mixer", "state")), BlockArgument(("attention", "state"))
ENCODERS, TWO_STACKS, ROTARY = Needs(("encoder",)), Needs(("encoder_decoder",)), Needs(positions="rotary")
DECODERS, DECODER = Needs(("decoder", "encoder_decoder")), Needs(("decoder",), ("attention",))
ATTENTION, ATTENTION_ENCODERS = Needs(mixers=("attention",)), Needs(("encoder",), ("attention",))
ONE_STACK = Needs(("encoder", "decoder"))
ONE_STACK_OF_ATTENTION = Needs(("encoder", "decoder"), ("attention",))


@dataclasses.dataclass(frozen=True)
class TransformerConfig(DerivedValues):
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
            small); `hidden_dim`, without projection, when None. A decoder projects its token embeddings, before it adds
            positions, and its last hidden states back to this width, both without bias (OPT 350m).
        num_block_groups: Number of groups of consecutive blocks whose members have the same weights (ALBERT); when
            None, each block has separate weights.
        dropout: Rate after each sublayer.
        embedding_dropout: Rate after the embeddings; `dropout` when None.
        attention_dropout: Rate on the attention weights.
        activation_dropout: Rate between the two feed-forward layers.
        pooler_dropout: Rate before the dense layer of the pooler, if the pooler is the first layer of a classifier.
        classifier_dropout: Rate before the last layer of a classifier; `dropout` when None.
        final_dropout: Whether there is dropout after the last norm of a pre-norm stack too.
        activation: Keras activation of the feed-forward layers and of the masked-LM head.
        pooler_activation: Keras activation of the pooler; of the masked-LM head too, if `head_transform` is `"all"`.
        classifier_pooling: Input of the classifier of an encoder: `"first"`, the first token; `"mean"`, the mean of
            all tokens; `"late"`, each one, with the mean of the logits (EuroBERT); or `"last"`, without a pooler.
        head_transform: Heads of an encoder that begin with a dense layer, an activation and a norm: `"masked_lm"`,
            the masked LM's (BERT); `"all"`, those that read single tokens, too, and the pooler has a norm (ModernBERT);
            `"none"` (EuroBERT). In a decoder `"all"` means the language model's and the classifier; other values none.
        head_bias: Whether the dense layers at the beginning of heads have biases.
        epsilon: Added to the variance in normalisations.
        norm: `"layer"`, `"rms"` or `"offset_rms"`, whose weights are added to 1 (Gemma).
        norm_order: `"post"` (the paper, BERT), `"pre"`, `"res_post"` (OLMo 2) or `"sandwich"` (Gemma 2): see
            `layers.residual`.
        parallel: Whether the feed-forward layer reads the input of its block, as the attention does (GPT-NeoX).
        residual_scale: Factor of the output of each sublayer, before it is added (Granite).
        mixer: The layer that mixes tokens: `"attention"`, `"simple_rnn"`, `"gru"`, `"lstm"` or `"convolution"`. Blocks
            without self-attention have no feed-forward layer; `intermediate_dim` is then the width of the states (both
            directions together) or the channels, and `num_heads` belongs to the cross-attention.
        cross_attention: Whether a decoder attends to its encoder. If not, its recurrent blocks begin with states
            computed from the encoder's last state, and the encoder reads in one direction only.
        kernel_size: Width of a convolution in tokens; an odd number where `mixer` is one.
        memory_heads, memory_key_heads, memory_key_dim, memory_value_dim: Sizes of `GatedDelta`, of blocks that have it
            (Qwen 3.5): heads of values, heads of keys and queries, and the widths of a head of each.
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
        head_norm: Norm of each head's queries and keys, one of the kinds of `norm`, or `"joint_rms"`, one of all heads
            together (OLMo 2); None for none.
        attention_soft_cap: Bound of the query-key products: `soft_cap` of `Attention`; None for none.
        attention_gate: Whether the outputs of heads are gated: `output_gate` of `Attention` (Qwen 3.5).
        use_bias: Whether there are biases; the five fields below, where they are None, are filled with it.
        attention_bias: Whether the projections of queries, keys and values have biases.
        attention_output_bias: Whether the output layers of attentions have biases; `attention_bias` when None.
        feed_forward_bias: Whether the feed-forward layers have biases; of recurrent and convolutional blocks, all.
        intermediate_bias: Whether the feed-forward layers before the activation have; `feed_forward_bias` when None.
        norm_bias: Whether layer norms have biases; False for RMS norms.
        initializer_range: Standard deviation of the truncated normal initialiser; None for Glorot uniform, `"fan_in"`
            for `1 / sqrt(inputs)`.
        embedding_initializer_range: The same for token embeddings; `initializer_range` when None.
        output_initializer_range: The same for the last layer of each sublayer; `initializer_range` when None.
        tie_embeddings: Whether the output projection is the token embedding.
        scale_outputs: Whether hidden states are multiplied by `1 / sqrt(hidden_dim)` before the output projection.
        output_bias: Whether the language model's logits have a bias.
        logits_soft_cap: Bound of the language model's logits, as `attention_soft_cap` (Gemma 2); None for none.
        logits_divisor: Divisor of the language model's logits (Granite).
        scale_embeddings: Whether token embeddings are multiplied by `sqrt(hidden_dim)`.
        embedding_scale: Another factor of token embeddings (Granite).
        embedding_norm: Whether there is a norm after the embeddings; when None, only in post-norm models.
        max_wavelength: Base of the wavelengths of rotary positions.
        rotary_scaling: Scale of rotary positions: a `RotaryScaling` or a dict of its values; None for none.
        partial_rotary_factor: Share of a head, its first units, that rotary positions turn.
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

    family: Annotated[str, TEXT]
    vocabulary_size: Annotated[int, SIZE]
    num_layers: Annotated[int, NUM_BLOCKS]
    num_heads: Annotated[int, SIZE, BlockArgument(("attention", "mixer_decoder"))]
    hidden_dim: Annotated[int, SIZE]
    intermediate_dim: Annotated[int, SIZE, EVERY_BLOCK]
    max_length: Annotated[int, SIZE]
    kind: Annotated[str, one_of(*KINDS)] = "encoder"
    num_segments: Annotated[int, COUNT] = 0
    embedding_dim: Annotated[int | None, SIZE, ONE_STACK_OF_ATTENTION] = None
    num_block_groups: Annotated[int | None, SIZE, ATTENTION_ENCODERS] = None
    dropout: Annotated[float, RATE, EVERY_BLOCK] = 0.1
    embedding_dropout: Annotated[float | None, RATE] = None
    attention_dropout: Annotated[float, RATE, BlockArgument(("attention", "mixer_decoder"))] = 0.1
    activation_dropout: Annotated[float, RATE, SUBLAYERS] = 0.0
    pooler_dropout: Annotated[float, RATE] = 0.0
    classifier_dropout: Annotated[float | None, RATE] = None
    final_dropout: Annotated[bool, SWITCH] = False
    activation: Annotated[str, TEXT, EVERY_BLOCK] = "gelu"
    pooler_activation: Annotated[str, TEXT] = "tanh"
    classifier_pooling: Annotated[str, one_of(*CLASSIFIER_POOLINGS), ENCODERS] = "first"
    head_transform: Annotated[str, one_of(*HEAD_TRANSFORMS), ONE_STACK] = "masked_lm"
    head_bias: Annotated[bool, SWITCH, ONE_STACK] = True
    epsilon: Annotated[float, AT_LEAST_ZERO, EVERY_BLOCK] = 1e-12
    norm: Annotated[str, one_of(*NORMS), EVERY_BLOCK] = "layer"
    norm_order: Annotated[str, one_of(*NORM_ORDERS), EVERY_BLOCK] = "post"
    parallel: Annotated[bool, SWITCH, ATTENTION, BlockArgument()] = False
    residual_scale: Annotated[float, POSITIVE, ATTENTION, SUBLAYERS] = 1.0
    mixer: Annotated[str, one_of(*MIXERS), BlockArgument(("mixer",))] = "attention"
    cross_attention: Annotated[bool, SWITCH] = True
    kernel_size: Annotated[int, SIZE, BlockArgument(("mixer", "short_convolution", "gated_delta"))] = 3
    memory_heads: Annotated[int | None, SIZE, DECODER, BlockArgument(("gated_delta",), "num_heads")] = None
    memory_key_heads: Annotated[int | None, SIZE, DECODER, BlockArgument(("gated_delta",), "num_key_heads")] = None
    memory_key_dim: Annotated[int | None, SIZE, DECODER, BlockArgument(("gated_delta",), "key_dim")] = None
    memory_value_dim: Annotated[int | None, SIZE, DECODER, BlockArgument(("gated_delta",), "value_dim")] = None
    positions: str | tuple[str, ...] | None = "learned"
    position_offset: Annotated[int, COUNT, Needs(("encoder",), positions="learned")] = 0
    position_buckets: Annotated[int | None, SIZE, Needs(positions="disentangled")] = None
    max_distance: Annotated[int | None, SIZE, Needs(positions="disentangled")] = None
    position_layout: Annotated[str, one_of(*POSITION_LAYOUTS)] = "interleaved"
    num_kv_heads: Annotated[int, SIZE, BlockArgument(("attention", "mixer_decoder"))] = None  # type: ignore[assignment]
    head_dim: Annotated[int, SIZE, BlockArgument(("attention", "mixer_decoder"))] = None  # type: ignore[assignment]
    head_norm: Annotated[str | None, one_of(*HEAD_NORMS), ATTENTION, BlockArgument()] = None
    attention_scale: Annotated[float | None, FINITE, BlockArgument(("attention", "mixer_decoder"), "scale")] = None
    attention_soft_cap: Annotated[float | None, POSITIVE, ATTENTION, BlockArgument(name="soft_cap")] = None
    attention_gate: Annotated[bool, SWITCH, ATTENTION, BlockArgument(name="output_gate")] = False
    gated: Annotated[bool, SWITCH, EVERY_BLOCK] = False
    use_bias: dataclasses.InitVar[bool] = True
    attention_bias: Annotated[bool, SWITCH, BlockArgument()] = None  # type: ignore[assignment]
    attention_output_bias: Annotated[bool, SWITCH, BlockArgument(name="output_bias")] = None  # type: ignore[assignment]
    feed_forward_bias: Annotated[bool, SWITCH, SUBLAYERS, BlockArgument(("mixer",), "use_bias")] = None  # type: ignore[assignment]
    intermediate_bias: Annotated[bool, SWITCH, SUBLAYERS] = None  # type: ignore[assignment]
    norm_bias: Annotated[bool, SWITCH, SUBLAYERS] = None  # type: ignore[assignment]
    initializer_range: Annotated[float | str | None, INITIALIZER_RANGE, EVERY_BLOCK] = 0.02
    embedding_initializer_range: Annotated[float | None, INITIALIZER_RANGE] = None
    output_initializer_range: Annotated[float | None, INITIALIZER_RANGE, EVERY_BLOCK] = None
    tie_embeddings: Annotated[bool, SWITCH] = True
    scale_outputs: Annotated[bool, SWITCH] = False
    output_bias: Annotated[bool, SWITCH] = False
    logits_soft_cap: Annotated[float | None, POSITIVE, DECODERS] = None
    logits_divisor: Annotated[float, POSITIVE, DECODERS] = 1.0
    scale_embeddings: Annotated[bool, SWITCH] = False
    embedding_scale: Annotated[float, POSITIVE] = 1.0
    embedding_norm: Annotated[bool, SWITCH] = None  # type: ignore[assignment]
    max_wavelength: Annotated[float, POSITIVE] = 10000.0
    rotary_scaling: Annotated[RotaryScaling | None, ROTARY] = None
    partial_rotary_factor: Annotated[float, SHARE, ROTARY, BlockArgument()] = 1.0
    pad_id: Annotated[int | None, TOKEN_ID] = None
    bos_id: Annotated[int | None, TOKEN_ID] = None
    eos_ids: Annotated[tuple[int, ...], TOKEN_IDS] = ()
    num_decoder_layers: Annotated[int | None, NUM_BLOCKS, TWO_STACKS] = None
    encoder_vocabulary_size: Annotated[int | None, SIZE, TWO_STACKS] = None
    decoder_start_id: Annotated[int | None, TOKEN_ID, TWO_STACKS] = None
    block_options: Annotated[tuple[BlockOptions, ...], ATTENTION] = ()

    __repr__ = brief

    def __post_init__(self, use_bias: bool):
        fill_values(self, use_bias)
        check_fields(self)
        check_positions(self)
        check_needs(self)
        check_combinations(self)
        check_limits(self)

    def replace(self, **changes: Any) -> TransformerConfig:
        """Return a copy with other values, checked again; `use_bias` replaces all biases that are not given."""
        if "use_bias" in changes:
            changes = dict.fromkeys(BIASES, None) | changes
        return dataclasses.replace(self, **{"use_bias": True} | changes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by field name."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TransformerConfig:
        """Build a configuration from the values of `to_dict`; refuse unknown keys, and a `use_bias` in vain."""
        known = {field.name for field in dataclasses.fields(cls)} | {"use_bias"}
        if unknown := sorted(set(values) - known):
            raise ValueError(f"unknown configuration keys {unknown}; the known ones are {sorted(known)}.")
        config = cls(**values)
        check_use_bias(config, values)
        return config


TransformerConfig.use_bias = property(has_biases)  # type: ignore[attr-defined]  # beside the argument of this name
