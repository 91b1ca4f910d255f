"""The two products of attention, queries with keys and weights with values, for heads that share keys and values."""

from __future__ import annotations

from keras import ops

from keras_transformers.utils.tensor_types import Tensor


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
