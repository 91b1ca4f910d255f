"""Vectors of texts: the ways of pooling that sentence-transformers has, and layers behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras import ops

from keras_transformers.heads.pooling import mean_of_tokens
from keras_transformers.layers.attention.masks import NEVER
from keras_transformers.layers.core.dense import Dense, find_activation
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.layers.core.layer_norm import LayerNormalization
from keras_transformers.utils.tensor_types import Tensor

Pool = Callable[[Tensor, Tensor], Tensor]  # from float32 states (B, T, D) and a mask (B, T) of bool, to vectors (B, D)


def pooled(
    ways: Sequence[str], hidden_states: Tensor, padding_mask: Tensor, prompt_length: Tensor | None = None
) -> Tensor:
    """Pool the hidden states of each text in one or several ways, side by side in this order.

    Paper: Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084; the weighted mean: Muennighoff 2022, "SGPT",
    https://arxiv.org/abs/2202.08904.

    Args:
        ways: Names in `POOLINGS`.
        hidden_states: (B, T, D).
        padding_mask: (B, T), 0 for padding, at the end of a row.
        prompt_length: (B,) integers, the first tokens of each text that are left out; None to leave none out.

    Returns:
        float32 (B, P * D) for P ways.

    Example:

    >>> import numpy as np
    >>> states = np.array([[[1.0], [4.0], [9.0]]])
    >>> ops.convert_to_numpy(pooled(["mean", "max", "last"], states, np.array([[1, 1, 0]]))).tolist()
    [[2.5, 4.0, 4.0]]
    """
    states, mask = ops.cast(hidden_states, "float32"), ops.not_equal(padding_mask, 0)  # (B, T, D), (B, T)
    if prompt_length is not None:
        positions = ops.cumsum(ops.ones_like(padding_mask), axis=1) - 1  # (B, T)
        mask = mask & (positions >= ops.cast(ops.expand_dims(prompt_length, 1), positions.dtype))
    # No prompt is left out: the first token is at the same place in all texts.
    pools = POOLINGS if prompt_length is not None else {**POOLINGS, "first": lambda states, mask: states[:, 0]}
    vectors = [pools[way](states, mask) for way in ways]  # (B, D) each
    return vectors[0] if len(vectors) == 1 else ops.concatenate(vectors, axis=-1)


def vector_layers(layers: Sequence[Mapping[str, Any]]) -> list[Callable[[Tensor], Tensor]]:
    """Make layers for vectors of texts, in float32: `vector_dense_0`, `vector_norm_1`, ... by their place.

    Args:
        layers: A dict for each. `layer` is its kind: `"dense"`, which is the default, has `units`, and perhaps
            `activation` and `use_bias`; `"layer_norm"`; `"dropout"` has a `rate`; `"normalize"` scales a vector to
            length one.

    Example:

    >>> dense, norm = vector_layers([{"units": 4, "activation": "tanh"}, {"layer": "layer_norm"}])
    >>> dense.name, norm.name
    ('vector_dense_0', 'vector_norm_1')
    """
    return [LAYERS[options.get("layer", "dense")](options, number) for number, options in enumerate(layers)]


def normalized(vectors: Tensor) -> Tensor:
    """Return vectors (B, D) scaled to length one; zero vectors stay zero, as in PyTorch."""
    return ops.normalize(vectors, axis=-1, epsilon=1e-12)


def _dense(options: Mapping[str, Any], number: int) -> Dense:
    return Dense(
        options["units"],
        activation=find_activation(options.get("activation", "linear")),
        use_bias=options.get("use_bias", True),
        dtype="float32",
        name=f"vector_dense_{number}",
    )


def _layer_norm(options: Mapping[str, Any], number: int) -> LayerNormalization:
    return LayerNormalization(epsilon=1e-5, dtype="float32", name=f"vector_norm_{number}")  # PyTorch's epsilon


def _dropout(options: Mapping[str, Any], number: int) -> Dropout:
    return Dropout(options["rate"], dtype="float32", name=f"vector_dropout_{number}")


LAYERS: Mapping[str, Callable[[Mapping[str, Any], int], Callable[[Tensor], Tensor]]] = {
    "dense": _dense, "layer_norm": _layer_norm, "dropout": _dropout, "normalize": lambda options, number: normalized,
}  # fmt: skip


def _first(states: Tensor, mask: Tensor) -> Tensor:
    return _at(states, ops.argmax(ops.cast(mask, "int32"), axis=1))


def _last(states: Tensor, mask: Tensor) -> Tensor:
    positions = ops.cumsum(ops.ones_like(mask, dtype="int32"), axis=1) - 1  # (B, T)
    return _at(states, ops.max(ops.where(mask, positions, 0), axis=1))


def _at(states: Tensor, place: Tensor) -> Tensor:
    """Return the state at one place (B,) of each row, (B, D)."""
    return ops.squeeze(ops.take_along_axis(states, ops.reshape(place, (-1, 1, 1)), axis=1), axis=1)


def _max(states: Tensor, mask: Tensor) -> Tensor:
    return ops.max(ops.where(ops.expand_dims(mask, -1), states, NEVER), axis=1)


def _mean_sqrt_length(states: Tensor, mask: Tensor) -> Tensor:
    count = ops.sum(ops.cast(mask, "float32"), axis=1, keepdims=True)  # (B, 1)
    return mean_of_tokens(states, mask) * ops.sqrt(count)


def _weighted_mean(states: Tensor, mask: Tensor) -> Tensor:
    mask = ops.cast(ops.expand_dims(mask, -1), "float32")  # (B, T, 1)
    weights = ops.cumsum(ops.ones_like(mask), axis=1) * mask  # 1, 2, 3, ... at the real tokens
    return ops.sum(states * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1.0)


POOLINGS: Mapping[str, Pool] = {
    "mean": mean_of_tokens,
    "first": _first,
    "last": _last,
    "max": _max,
    "weighted_mean": _weighted_mean,
    "mean_sqrt_length": _mean_sqrt_length,
}
