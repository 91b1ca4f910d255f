"""From a configuration to layers: the only place where its fields are unpacked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import keras
from keras import ops

from keras_transformers.config import TransformerConfig
from keras_transformers.layers import (
    ALiBi,
    DecoderBlock,
    EncoderBlock,
    LearnedPositions,
    RelativePositionBias,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
)
from keras_transformers.layers.residual import make_norm

OPTIONAL_OUTPUTS = ("attention_scores", "all_hidden_states")
Layers = Mapping[str, keras.layers.Layer]


def check_outputs(outputs: Iterable[str]) -> tuple[str, ...]:
    """The names of optional outputs; a `ValueError` for an unknown one."""
    outputs = tuple(outputs)
    if unknown := sorted(set(outputs) - set(OPTIONAL_OUTPUTS) - {"hidden_states"}):
        raise ValueError(f"unknown outputs {unknown}; a model has hidden_states and {OPTIONAL_OUTPUTS}.")
    return outputs


def token_inputs(config: TransformerConfig) -> dict[str, keras.KerasTensor]:
    """The inputs of a model by name, each (B, T) int32: `token_ids`, `segment_ids` (where used), `padding_mask`."""
    names = ["token_ids", *(["segment_ids"] if config.num_segments else []), "padding_mask"]
    return {name: keras.Input((None,), dtype="int32", name=name) for name in names}


def layers(config: TransformerConfig, return_scores: bool, dtype: str) -> dict[str, keras.layers.Layer]:
    """All layers of a model by their names, in the order of the data.

    Args:
        config: Sizes and options.
        return_scores: Whether blocks return attention weights too.
        dtype: Name of a Keras dtype policy.
    """
    block = {"encoder": EncoderBlock, "decoder": DecoderBlock}[config.kind]
    options = _block_options(config, return_scores, dtype)
    made = [
        *_embedding_layers(config, dtype),
        *_position_layers(config, dtype),
        *[block(name=f"{config.kind}_block_{index}", **options) for index in range(config.num_layers)],
    ]
    if config.norm_order == "pre":  # a post-norm stack ends with a norm already
        made.append(make_norm(config.norm, config.epsilon, dtype, "final_norm", config.use_bias))
    return {layer.name: layer for layer in made}


def _embedding_layers(config: TransformerConfig, dtype: str) -> list[keras.layers.Layer]:
    made = [
        TokenEmbedding(
            config.vocabulary_size,
            config.hidden_dim,
            config.num_segments,
            initializer_range=config.initializer_range,
            dtype=dtype,
            name="token_embedding",
        )
    ]
    if config.positions == "learned":
        made.append(
            LearnedPositions(config.max_length, config.initializer_range, dtype=dtype, name="position_embedding")
        )
    elif config.positions == "sinusoidal":
        made.append(SinusoidalPositions(dtype=dtype, name="position_embedding"))
    if config.embedding_norm:
        made.append(make_norm(config.norm, config.epsilon, dtype, "embedding_norm", config.use_bias))
    return [*made, keras.layers.Dropout(config.dropout, dtype=dtype, name="embedding_dropout")]


def _position_layers(config: TransformerConfig, dtype: str) -> list[keras.layers.Layer]:
    """The layer, if any, that makes what blocks take for positions, once for all of them."""
    if config.positions == "rotary":
        return [RotaryPositions(config.head_dim, config.max_wavelength, dtype="float32", name="positions")]
    if config.positions == "relative":
        both_sides = config.kind == "encoder"
        return [RelativePositionBias(config.num_heads, bidirectional=both_sides, dtype=dtype, name="positions")]
    return [ALiBi(config.num_heads, dtype=dtype, name="positions")] if config.positions == "alibi" else []


def _block_options(config: TransformerConfig, return_scores: bool, dtype: str) -> dict[str, Any]:
    same = ("num_heads", "intermediate_dim", "head_dim", "num_kv_heads", "dropout", "attention_dropout", "activation",
            "gated", "norm", "norm_order", "epsilon", "use_bias", "initializer_range")  # fmt: skip
    options = {name: getattr(config, name) for name in same} | {"return_scores": return_scores, "dtype": dtype}
    if config.kind == "decoder":
        options["output_initializer_range"] = config.output_initializer_range
    return options


def embed(layers: Layers, token_ids: Any, segment_ids: Any = None, positions: Any = None) -> Any:
    """Token, segment and absolute position embeddings, (B, T, D); positions are 0, 1, 2, ... when None."""
    hidden_states = layers["token_embedding"](token_ids, segment_ids=segment_ids)
    if "position_embedding" in layers:
        hidden_states = layers["position_embedding"](hidden_states, positions=positions)
    if "embedding_norm" in layers:
        hidden_states = layers["embedding_norm"](hidden_states)
    return layers["embedding_dropout"](hidden_states)


def block_positions(config: TransformerConfig, layers: Layers, queries: Any, keys: Any) -> dict[str, Any]:
    """What blocks take for positions that are not in the embeddings: `rotary` or `position_bias`.

    Args:
        config: Says which.
        layers: By name.
        queries: int32 (1|B, T), positions of the queries.
        keys: int32 (1|B, S), positions of the keys.
    """
    if config.positions == "rotary":
        return {"rotary": layers["positions"](queries)}
    return {"position_bias": layers["positions"](queries, keys)} if "positions" in layers else {}


def named_outputs(names: Iterable[str], states: list[Any], scores: list[Any]) -> dict[str, Any]:
    """The outputs of a stack: `hidden_states`, and those of the optional ones that are asked for.

    Args:
        names: Of the outputs.
        states: The embeddings and what every block gives, each (B, T, D); the last one is normed.
        scores: Attention weights of every block, each (B, N, T, S).
    """
    outputs = {"hidden_states": states[-1]}
    if "attention_scores" in names:
        outputs["attention_scores"] = ops.stack(scores, axis=1)
    if "all_hidden_states" in names:
        outputs["all_hidden_states"] = ops.stack(states, axis=1)
    return outputs
