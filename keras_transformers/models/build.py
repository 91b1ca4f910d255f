"""The layers of a model from its configuration: the only place where its fields are unpacked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformers.config.rotary_scaling import RotaryScaling, as_dict
from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import (
    ALiBi,
    DisentangledPositions,
    Dropout,
    LearnedPositions,
    RelativePositionBias,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
    TokenPositions,
)
from keras_transformers.layers.core.dense import Dense, dense_initializer
from keras_transformers.layers.core.layer_norm import make_norm
from keras_transformers.models.block_layers import blocks
from keras_transformers.utils.tensor_types import Tensor

# Optional outputs beside the hidden states of each stack.
OPTIONAL_OUTPUTS: dict[str, tuple[str, ...]] = {"encoder": ("attention_scores", "all_hidden_states")}
OPTIONAL_OUTPUTS["decoder"] = OPTIONAL_OUTPUTS["encoder"]
OPTIONAL_OUTPUTS["encoder_decoder"] = (
    *OPTIONAL_OUTPUTS["decoder"], "cross_attention_scores", "encoder_attention_scores", "all_encoder_hidden_states",
)  # fmt: skip
Layers = Mapping[str, keras.layers.Layer]


def check_outputs(outputs: Iterable[str], config: TransformerConfig) -> tuple[str, ...]:
    """Check and return the names of a model's optional outputs; an unknown one is a `ValueError`."""
    if isinstance(outputs, str):
        raise ValueError(f"outputs must be a list of names: received the str {outputs!r}. Pass [{outputs!r}].")
    outputs, two_stacks = tuple(outputs), config.kind == "encoder_decoder"
    known = tuple(name for name in OPTIONAL_OUTPUTS[config.kind] if _has_output(config, name))
    always = {"hidden_states", "encoder_hidden_states"} if two_stacks else {"hidden_states"}
    if unknown := sorted(set(outputs) - set(known) - always):
        mixer = "" if config.mixer == "attention" else f" with mixer={config.mixer!r}"
        raise ValueError(f"unknown outputs {unknown}; a model{mixer} has {sorted(always)} and {known}.")
    return outputs


def _has_output(config: TransformerConfig, name: str) -> bool:
    if name == "cross_attention_scores":
        return config.cross_attention
    if name == "all_hidden_states" and config.output_dim != config.hidden_dim:
        return False  # the last ones have another width
    return config.mixer == "attention" or "scores" not in name


def token_inputs(config: TransformerConfig) -> dict[str, keras.KerasTensor]:
    """Return the inputs of a model by name, int32 (B, T) each; (B, S) for an encoder beside a decoder."""
    names = ["token_ids", *(["segment_ids"] if config.num_segments else []), "padding_mask"]
    if config.kind == "encoder_decoder":
        names = [*(f"encoder_{name}" for name in names), *names]
    return {name: keras.Input((None,), dtype="int32", name=name) for name in names}


def layers(config: TransformerConfig, outputs: Sequence[str], dtype: str) -> dict[str, keras.layers.Layer]:
    """Return all layers of a model by their names, in the order of the data.

    If there are two stacks, the names of their layers begin with `encoder_` and `decoder_`, except the shared token
    embedding.

    Args:
        config: Sizes and options.
        outputs: Names of the optional outputs; they decide whether blocks return attention weights.
        dtype: Name of a Keras dtype policy.
    """
    all_layers = [_token_embedding(config, config.vocabulary_size, dtype, "token_embedding")]
    if config.encoder_vocabulary_size:
        all_layers.append(_token_embedding(config, config.encoder_vocabulary_size, dtype, "encoder_token_embedding"))
    two_stacks = config.kind == "encoder_decoder"
    for side in ("encoder", "decoder") if two_stacks else (config.kind,):
        prefix = f"{side}_" if two_stacks else ""
        all_layers += _embedding_layers(config, prefix, dtype)
        all_layers += _position_layers(config, side, prefix, dtype)
        all_layers += blocks(config, side, outputs, dtype)
        all_layers += _final_layers(config, prefix, dtype)
    return {layer.name: layer for layer in all_layers}


def _token_embedding(config: TransformerConfig, rows: int, dtype: str, name: str) -> TokenEmbedding:
    embedding_range: Any = config.embedding_initializer_range
    return TokenEmbedding(
        vocabulary_size=rows,
        hidden_dim=config.embedding_dim or config.hidden_dim,
        num_segments=config.num_segments,
        scale=config.scale_embeddings or (config.embedding_scale if config.embedding_scale != 1 else False),
        initializer_range=config.initializer_range if embedding_range is None else embedding_range,
        dtype=dtype,
        name=name,
    )


def _embedding_layers(config: TransformerConfig, prefix: str, dtype: str) -> list[keras.layers.Layer]:
    embedding_layers, name = [], f"{prefix}position_embedding"
    if config.output_dim != config.hidden_dim:
        embedding_layers.append(_projection(config, config.hidden_dim, dtype, "token_projection", use_bias=False))
    if config.position_offset:
        rows = {"pad_id": config.fill_id, "offset": config.position_offset}
        embedding_layers.append(TokenPositions(**rows, name=f"{prefix}position_rows"))
    if "learned" in config.position_kinds:
        num_rows = config.max_length + config.position_offset
        embedding_layers.append(LearnedPositions(num_rows, config.initializer_range, dtype=dtype, name=name))
    elif "sinusoidal" in config.position_kinds:
        embedding_layers.append(SinusoidalPositions(config.position_layout, dtype=dtype, name=name))
    if config.embedding_norm:
        embedding_layers.append(_norm(config, dtype, f"{prefix}embedding_norm"))
    rate = config.dropout if config.embedding_dropout is None else config.embedding_dropout
    embedding_layers.append(Dropout(rate, dtype=dtype, name=f"{prefix}embedding_dropout"))
    if config.embedding_dim and config.kind == "encoder":
        embedding_layers.append(_projection(config, config.hidden_dim, dtype, "embedding_projection"))
    return embedding_layers


def _projection(config: TransformerConfig, width: int, dtype: str, name: str, use_bias: bool = True) -> Dense:
    initializer = dense_initializer(config.initializer_range)
    return Dense(width, use_bias=use_bias, kernel_initializer=initializer, dtype=dtype, name=name)


def _position_layers(config: TransformerConfig, side: str, prefix: str, dtype: str) -> list[keras.layers.Layer]:
    """Return the layers that compute positions for the blocks; blocks with the same options share one."""
    name = f"{prefix}positions"
    if "rotary" in config.position_kinds:
        return [
            RotaryPositions(config.rotary_dim, base, as_dict(scaling), dtype="float32", name=prefix + rotary_name)
            for (base, scaling), rotary_name in rotary_names(config, side).items()
        ]
    if "relative" in config.position_kinds:
        return [RelativePositionBias(config.num_heads, bidirectional=side == "encoder", dtype=dtype, name=name)]
    if "disentangled" in config.position_kinds:
        sizes = {"num_buckets": config.position_buckets, "max_distance": config.max_distance or config.max_length}
        options: dict[str, Any] = sizes | {"epsilon": config.epsilon, "initializer_range": config.initializer_range}
        return [DisentangledPositions(config.hidden_dim, **options, dtype=dtype, name=name)]
    return [ALiBi(config.num_heads, dtype=dtype, name=name)] if "alibi" in config.position_kinds else []


def rotary_names(config: TransformerConfig, side: str) -> dict[tuple[float, RotaryScaling | None], str]:
    """Return the names of a stack's layers of rotary positions, by the base of their wavelengths and their scale.

    `positions` is the layer of the first block that has rotary positions; `positions_1`, ... are for further ones.
    """
    every = [config.block(index, side) for index in range(config.num_blocks(side))]
    kinds = dict.fromkeys((block.max_wavelength or 0.0, block.rotary_scaling) for block in every if block.rotary)
    return {kind: f"positions_{index}" if index else "positions" for index, kind in enumerate(kinds)}


def _final_layers(config: TransformerConfig, prefix: str, dtype: str) -> list[keras.layers.Layer]:
    final_layers: list[keras.layers.Layer] = []
    if config.norm_order != "post":  # each block of which ends with a norm
        final_layers.append(_norm(config, dtype, f"{prefix}final_norm"))
        if config.final_dropout:
            final_layers.append(Dropout(config.dropout, dtype=dtype, name=f"{prefix}final_dropout"))
    if config.output_dim != config.hidden_dim:
        final_layers.append(_projection(config, config.output_dim, dtype, "output_projection", use_bias=False))
    return final_layers


def _norm(config: TransformerConfig, dtype: str, name: str) -> keras.layers.Layer:
    return make_norm(config.norm, config.epsilon, dtype, name, config.norm_bias)


def stack(layers: Layers, side: str) -> Layers:
    """Return the layers of one of two stacks, named as in a model of one stack.

    Args:
        layers: Layers of any model, by name.
        side: `"encoder"` or `"decoder"`.
    """
    prefix = f"{side}_"
    stack_layers = {name.removeprefix(prefix): layer for name, layer in layers.items() if name.startswith(prefix)}
    return {**layers, **stack_layers}


def embed(
    layers: Layers, token_ids: Tensor, segment_ids: Tensor | None = None, positions: Tensor | None = None
) -> Tensor:
    """Return the sum of token, segment and absolute position embeddings, (B, T, D); positions None are 0, 1, 2, ..."""
    embedding = layers["token_embedding"]
    if segment_ids is not None and embedding.num_segments == 1:
        segment_ids = segment_ids * 0  # both texts of a pair are in the only segment, as in RoBERTa
    hidden_states = embedding(token_ids, segment_ids=segment_ids)  # (B, T, D)
    if "token_projection" in layers:
        hidden_states = layers["token_projection"](hidden_states)
    if "position_rows" in layers:
        positions = layers["position_rows"](token_ids)  # (B, T)
    if "position_embedding" in layers:
        hidden_states = layers["position_embedding"](hidden_states, positions=positions)
    if "embedding_norm" in layers:
        hidden_states = layers["embedding_norm"](hidden_states)
    hidden_states = layers["embedding_dropout"](hidden_states)
    return layers["embedding_projection"](hidden_states) if "embedding_projection" in layers else hidden_states


def finish(layers: Layers, hidden_states: Tensor) -> Tensor:
    """Apply the norm, the dropout and the projection after the last block, if the model has them."""
    for name in ("final_norm", "final_dropout", "output_projection"):
        if name in layers:
            hidden_states = layers[name](hidden_states)  # (B, T, D)
    return hidden_states


def named_outputs(
    names: Iterable[str], states: list[Tensor], scores: Mapping[str, list[Tensor]], prefix: str = ""
) -> dict[str, Tensor]:
    """Return the outputs of a stack by name: `hidden_states` and the optional ones in `names`.

    Args:
        names: Names of the outputs.
        states: The embeddings and the output of every block, each (B, T, D); the last one is after the norm.
        scores: Attention weights of every block by name, each (B, N, T, S).
        prefix: Prefix of the names of the outputs.
    """
    lists = {prefix + name: tensors for name, tensors in scores.items()} | {f"all_{prefix}hidden_states": states}
    stacked = {name: ops.stack(tensors, axis=1) for name, tensors in lists.items() if name in names}  # (B, L, ...)
    return {f"{prefix}hidden_states": states[-1]} | stacked
