"""The two products of attention, queries with keys and weights with values, for heads that share keys and values."""

from __future__ import annotations

from keras import ops

from keras_transformers.layers.attention.masks import NEVER
from keras_transformers.utils.tensor_types import Tensor


def attention_weights(
    query: Tensor, key: Tensor, attention_mask: Tensor | None = None, position_bias: Tensor | None = None
) -> Tensor:
    """Return the softmax of the products of queries and keys.

    Args:
        query: (B, N, T, H), scaled.
        key: (B, K, S, H).
        attention_mask: Boolean (B|1, 1|T, S), True = may attend.
        position_bias: (B|1, N, T, S), added to the products.

    Returns:
        float32 (B, N, T, S).

    Example:

    >>> attention_weights(np.zeros((1, 4, 3, 8)), np.zeros((1, 2, 2, 8)))[0, 0, 0].numpy().tolist()
    [0.5, 0.5]
    """
    scores = products(query, key)  # (B, N, T, S)
    scores = ops.cast(scores, "float32")  # half precision would lose the tail of the softmax
    if position_bias is not None:
        scores = scores + ops.cast(position_bias, scores.dtype)
    if attention_mask is not None:
        # Adding a large negative number would be a little faster, but keep infinite scores of hidden keys (float16).
        scores = ops.where(ops.expand_dims(attention_mask, 1), scores, NEVER)

    # Keras warns of a softmax over a single number, with which a decoder begins.
    return ops.softmax(scores, axis=-1) if scores.shape[-1] != 1 else ops.ones_like(scores)


def products(rows: Tensor, columns: Tensor) -> Tensor:
    """Multiply the heads' rows (B, N, T, H) with the columns (B, K, S, H) that they share: (B, N, T, S)."""
    grouped = ops.einsum("bkth,bksh->bkts", group(rows, columns), columns)  # (B, K, N/K * T, S)
    return ungroup(grouped, rows)


def mix(weights: Tensor, value: Tensor) -> Tensor:
    """Sum the values (B, K, S, H) that heads share, weighted by (B, N, T, S): (B, N, T, H)."""
    grouped = ops.einsum("bkts,bksh->bkth", group(weights, value), value)  # (B, K, N/K * T, H)
    return ungroup(grouped, weights)


def group(x: Tensor, shared: Tensor) -> Tensor:
    """Reshape (B, N, T, X) to (B, K, N/K * T, X): query heads that share a head of `shared` become more rows of it."""
    heads, kv_heads = x.shape[1], shared.shape[1]
    if heads == kv_heads:
        return x
    batch, _, length, width = ops.shape(x)
    return ops.reshape(x, (batch, kv_heads, heads // kv_heads * length, width))


def ungroup(grouped: Tensor, like: Tensor) -> Tensor:
    """Undo `group`: (B, K, N/K * T, X) to (B, N, T, X), with the N and T of `like` (B, N, T, ...)."""
    if grouped.shape[1] == like.shape[1]:
        return grouped
    batch, _, _, width = ops.shape(grouped)
    return ops.reshape(grouped, (batch, like.shape[1], ops.shape(like)[2], width))
