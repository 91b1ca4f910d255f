"""The blocks of a model from its configuration, and the shapes of their caches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_transformers.config.fields import block_arguments
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import (
    DecoderBlock,
    EncoderBlock,
    MixerDecoderBlock,
    MixerEncoderBlock,
    StateDecoderBlock,
)
from keras_transformers.layers.attention.attention import LINEAR_FROM
from keras_transformers.layers.attention.cache import joined
from keras_transformers.layers.attention.scores import ALL_KEYS


def blocks(config: TransformerConfig, side: str, outputs: Sequence[str], dtype: str) -> list[keras.layers.Layer]:
    """Return the blocks of a stack.

    Args:
        config: Sizes and options.
        side: `"encoder"` or `"decoder"`.
        outputs: Names of the optional outputs of the model.
        dtype: Name of a Keras dtype policy.
    """
    if config.mixer != "attention":
        return _mixer_blocks(config, side, dtype)
    options: dict[str, Any] = block_arguments(config, "attention") | {"dtype": dtype}
    if not has_long_texts(config):
        options["linear_from"] = None  # the fastest way, as no text is long
    two_stacks = config.kind == "encoder_decoder"
    options["return_scores"] = ("encoder_attention_scores" if two_stacks else "attention_scores") in outputs
    block_class: type[keras.layers.Layer] = EncoderBlock
    if side == "decoder":
        block_class = DecoderBlock
        options["cross_attention"] = two_stacks
        options["return_cache"] = True  # for `prefill`: a cache that is no output of the model costs nothing
        # For alignments, which may be asked for at any time: weights that are no output of the model cost nothing.
        options["return_scores"] |= two_stacks
    made: list[keras.layers.Layer] = []
    for index in range(config.num_block_groups or config.num_blocks(side)):
        own, name = config.block(index, side), f"{side}_block_{index}"
        if own.mixer != "attention":
            arguments = block_arguments(config, "state") | block_arguments(config, own.mixer)
            made.append(StateDecoderBlock(own.mixer, name=name, dtype=dtype, return_cache=True, **arguments))
            continue
        window = window_sides(own.attention_window, side) if has_long_texts(config) else ALL_KEYS
        made.append(block_class(name=name, attention_norm=own.attention_norm, window=window, **options))
    return made


def has_long_texts(config: TransformerConfig) -> bool:
    """Return whether blocks make their masks chunk by chunk, as the mask of a whole text would be too large."""
    return config.max_length >= LINEAR_FROM


def window_sides(window: int | None, side: str) -> tuple[int | None, int | None]:
    """Convert a block's attention window to the number of tokens that a token sees before and after itself."""
    if side == "decoder":
        return (None if window is None else window - 1, 0)
    return (None, None) if window is None else (window // 2, window // 2)


def _mixer_blocks(config: TransformerConfig, side: str, dtype: str) -> list[keras.layers.Layer]:
    block_class: type = MixerEncoderBlock
    options: dict[str, Any] = {"bidirectional": config.cross_attention}
    if side == "decoder":
        block_class, two_stacks = MixerDecoderBlock, config.kind == "encoder_decoder"
        reads = "attention" if config.cross_attention else "state"
        options = {
            "encoder": reads if two_stacks else None,
            "return_scores": config.cross_attention,
            "return_cache": True,
            **block_arguments(config, "mixer_decoder"),
        }
    options |= block_arguments(config, "mixer") | {"dtype": dtype}
    return [block_class(name=f"{side}_block_{index}", **options) for index in range(config.num_blocks(side))]


def cache_shapes(config: TransformerConfig, layer: keras.layers.Layer) -> dict[str, tuple]:
    """Return the shapes of the parts of a block's cache without the batch, (K, S, H) with S None, or of its state.

    Args:
        config: Sizes and options.
        layer: The block, of a decoder.
    """
    if isinstance(layer, StateDecoderBlock):
        return {name: shape[1:] for name, shape in layer.mixer.part_shapes(config.hidden_dim).items()}
    heads = (config.num_kv_heads, None, config.head_dim)
    shapes = {"key": heads, "value": heads}
    if config.mixer != "attention":
        width = config.hidden_dim if config.mixer == "convolution" else config.intermediate_dim
        shapes = dict.fromkeys(("key", "value") if config.mixer == "lstm" else ("key",), (1, None, width))
    if config.kind != "encoder_decoder":
        return shapes
    crossing = {"key": heads, "value": heads} if config.cross_attention else shapes
    return joined(shapes, crossing)
