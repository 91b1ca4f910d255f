"""From a configuration to layers: the only place where its fields are unpacked."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformers.config import TransformerConfig
from keras_transformers.layers import (
    ALiBi,
    EncoderBlock,
    LearnedPositions,
    PositionIds,
    RelativePositionBias,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
)
from keras_transformers.layers.residual import make_norm


def token_inputs(config: TransformerConfig) -> dict[str, keras.KerasTensor]:
    """The inputs of an encoder by name, each (B, T) int32: `token_ids`, `segment_ids` (where used), `padding_mask`."""
    names = ["token_ids", *(["segment_ids"] if config.num_segments else []), "padding_mask"]
    return {name: keras.Input((None,), dtype="int32", name=name) for name in names}


def embed(config: TransformerConfig, inputs: dict[str, Any], dtype: str) -> Any:
    """Token, segment and absolute position embeddings, (B, T, D).

    Post-norm models, which have no norm at the top of the stack, have one here: the one that their first block would
    else lack.
    """
    tokens = TokenEmbedding(
        config.vocabulary_size,
        config.hidden_dim,
        config.num_segments,
        initializer_range=config.initializer_range,
        dtype=dtype,
        name="token_embedding",
    )
    hidden_states = tokens(inputs["token_ids"], segment_ids=inputs.get("segment_ids"))
    if config.positions == "learned":
        layer = LearnedPositions(config.max_length, config.initializer_range, dtype=dtype, name="position_embedding")
        hidden_states = layer(hidden_states)
    elif config.positions == "sinusoidal":
        hidden_states = SinusoidalPositions(dtype=dtype, name="position_embedding")(hidden_states)
    if config.norm_order == "post":
        hidden_states = make_norm(config.norm, config.epsilon, dtype, "embedding_norm")(hidden_states)
    return keras.layers.Dropout(config.dropout, dtype=dtype, name="embedding_dropout")(hidden_states)


def block_positions(config: TransformerConfig, token_ids: Any, dtype: str) -> dict[str, Any]:
    """What blocks take for positions that are not in the embeddings: `rotary` or `position_bias`, made once for all."""
    if config.positions not in ("rotary", "relative", "alibi"):
        return {}
    positions = PositionIds(name="position_ids")(token_ids)
    if config.positions == "rotary":
        return {"rotary": RotaryPositions(config.head_dim, dtype="float32", name="positions")(positions)}
    if config.positions == "relative":
        layer = RelativePositionBias(config.num_heads, dtype=dtype, name="positions")
        return {"position_bias": layer(positions, positions)}
    return {"position_bias": ALiBi(config.num_heads, dtype=dtype, name="positions")(positions, positions)}


def encoder_block(config: TransformerConfig, index: int, return_scores: bool, dtype: str) -> EncoderBlock:
    """The encoder block number `index`."""
    return EncoderBlock(
        config.num_heads,
        config.intermediate_dim,
        head_dim=config.head_dim,
        num_kv_heads=config.num_kv_heads,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        activation=config.activation,
        gated=config.gated,
        norm=config.norm,
        norm_order=config.norm_order,
        epsilon=config.epsilon,
        use_bias=config.use_bias,
        return_scores=return_scores,
        initializer_range=config.initializer_range,
        dtype=dtype,
        name=f"encoder_block_{index}",
    )


def final_norm(config: TransformerConfig, hidden_states: Any, dtype: str) -> Any:
    """The norm at the top of a pre-norm stack; a post-norm stack ends with one already."""
    if config.norm_order == "post":
        return hidden_states
    return make_norm(config.norm, config.epsilon, dtype, "final_norm")(hidden_states)
