"""From vectors to heads and back: the products with the matrices of queries, keys, values and the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.attention.distance_scores import Distances, by_distance
from keras_transformers.layers.core.dense import length_of, without_length
from keras_transformers.layers.positions.rotary import rotate
from keras_transformers.utils.tensor_types import Tensor

JOINT = "joint_"  # of a norm of all heads together


def project(
    dense: keras.layers.Layer, x: Tensor, length: Tensor | int, heads: int, norm: Callable | None = None
) -> Tensor:
    """Project (B, T, D) to the vectors of heads, (B, heads, T, H).

    Args:
        dense: Dense layer from D to heads * H.
        x: (B, T, D).
        length: T.
        heads: The number of heads.
        norm: Norm of all heads together, from (B * T, heads * H) to the same.
    """
    projected = dense(without_length(x))  # (B * T, heads * H)
    projected = projected if norm is None else norm(projected)
    width = projected.shape[-1] // heads
    if x.shape[1] == 1:
        return ops.reshape(projected, (-1, heads, 1, width))
    projected = ops.reshape(projected, (-1, length, heads, width))  # (B, T, heads, H)
    return ops.transpose(projected, (0, 2, 1, 3))


def merge(x: Tensor) -> Tensor:
    """Merge the heads: (B, N, T, H) to (B * T, N * H).

    Example:

    >>> merge(np.ones((1, 2, 3, 4))).shape.as_list()
    [3, 8]
    """
    heads, width = x.shape[1], x.shape[-1]
    if x.shape[2] != 1:
        x = ops.transpose(x, (0, 2, 1, 3))  # (B, T, N, H)
    return ops.reshape(x, (-1, heads * width))


def gated(attention: Any, mixed: Tensor, hidden_states: Tensor) -> Tensor:
    """Return the merged outputs of the heads, (B * T, N * H), behind the gate if the attention has one.

    Args:
        attention: An `Attention`, with its layer `gate` or None.
        mixed: (B * T, N * H).
        hidden_states: (B, T, D), the source of the queries.
    """
    return mixed if attention.gate is None else mixed * ops.sigmoid(attention.gate(without_length(hidden_states)))


def queries(
    attention: Any, hidden_states: Tensor, rotary: Any, scale: float, length: Tensor | int | None = None
) -> Tensor:
    """Return the queries of a call times the scale, (B, N, T, H).

    Args:
        attention: An `Attention`, with its dense layers and norms.
        hidden_states: (B, T, D).
        rotary: As in `Attention`.
        scale: Factor of the query-key products.
        length: T, if it is known.
    """
    length = length_of(hidden_states) if length is None else length
    joint, each = _norms(attention, attention.query_norm)
    query = each(project(attention.query, hidden_states, length, attention.num_heads, joint))
    return (query if rotary is None else rotate(query, rotary)) * ops.cast(scale, query.dtype)


def keys(attention: Any, source: Tensor, rotary: Any, length: Tensor | int | None = None) -> Tensor:
    """Return the keys of a call, (B, K, S, H).

    Args:
        attention: An `Attention`, with its dense layers and norms.
        source: (B, S, any width).
        rotary: As in `Attention`.
        length: S, if it is known.
    """
    length = length_of(source) if length is None else length
    joint, each = _norms(attention, attention.key_norm)
    key = each(project(attention.key, source, length, attention.num_kv_heads, joint))
    return key if rotary is None else rotate(key, rotary)


def _norms(attention: Any, norm: Callable | None) -> tuple[Callable | None, Callable]:
    """Return the norm of all heads together, if it is one, and the norm of each."""
    if norm is None:
        return None, lambda x: x
    return (norm, lambda x: x) if attention.head_norm.startswith(JOINT) else (None, norm)


def keys_and_values(attention: Any, context: Tensor, key: Tensor | None, rotary: Any) -> dict[str, Tensor]:
    """Return the keys (B, K, S, H) and the values (B, K, S, value_dim) of a call, as parts of a cache.

    Args:
        attention: An `Attention`.
        context: The source of the values (B, S, any width).
        key: The source of the keys (B, S, any width); `context` when None.
        rotary: As in `Attention`.
    """
    length = length_of(context)
    values = project(attention.value, context, length, attention.num_kv_heads)
    return {"key": keys(attention, context if key is None else key, rotary, length), "value": values}


def distance_vectors(attention: Any, relative_positions: Any) -> Distances | None:
    """Return the vectors of distances by head, if there are any.

    Args:
        attention: An `Attention`.
        relative_positions: As in `Attention`, or None.
    """
    if relative_positions is None:
        return None
    table, rows = relative_positions
    table = ops.expand_dims(table, 0)  # (1, R, D)
    scale = attention.score_scale(relative_positions)
    return by_distance(keys(attention, table, None), queries(attention, table, None, scale), rows)  # (1, N, R, H) each
