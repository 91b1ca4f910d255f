"""The ways to compute attention: all scores at once, in chunks of queries, or by a fused kernel."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_transformers.layers.attention.fused_attention import fused_attention, fused_implementation
from keras_transformers.layers.attention.long_attention import long_attention
from keras_transformers.layers.attention.products import mix
from keras_transformers.layers.attention.query_chunks import CHUNK, chunk_size, width
from keras_transformers.layers.attention.scores import ScoreOptions, attention_weights
from keras_transformers.layers.core.dropout import nth_seed
from keras_transformers.utils.tensor_types import Tensor


def attend(
    attention: Any, query: Tensor, key: Tensor, value: Tensor, options: ScoreOptions, is_cached: bool,
    with_scores: bool, training: bool | None,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """Return the sums of the values, weighted by the softmax of the scores, in the fastest way.

    Args:
        attention: An `Attention`, with its dropout and its `linear_from`.
        query: (B, N, T, H), scaled.
        key: (B, K, S, H).
        value: (B, K, S, H); here H may differ.
        options: The options of the scores.
        is_cached: Whether keys and values come from a cache.
        with_scores: Whether the attention weights are returned, too.
        training: Whether there is dropout.

    Returns:
        (B, N, T, H), and a list of the attention weights (B, N, T, S), or of none.
    """
    scores, kernel, is_short = [], None, _is_short(attention.linear_from, query.shape[2], is_cached)
    if not attention.dropout.drops(training):  # kernels have none
        kernel = fused_implementation(query, key, value, options, is_short)

    if with_scores or (is_short and kernel is None):  # a graph drops those that nothing uses
        scores = [ops.cast(attention_weights(query, key, options), attention.compute_dtype)]  # (B, N, T, S)
    if kernel is not None:
        return fused_attention(query, key, value, options, kernel), scores
    if is_short:
        return mix(attention.dropout(scores[0], training=training), value), scores
    return _in_chunks(attention.dropout, query, key, value, options, training), scores


def _is_short(linear_from: int | None, length: Any, is_cached: bool) -> bool:
    """Return whether all scores are computed at once, not in chunks."""
    if linear_from is None or is_cached:
        return True
    if not isinstance(length, int):  # unknown: None in TensorFlow; in JAX a symbol, which has no number of chunks
        return length is not None
    return length < linear_from


def _in_chunks(dropout: Any, query: Tensor, key: Tensor, value: Tensor, options: ScoreOptions, training: Any) -> Tensor:
    """Attend in memory that is linear in T; the result is (B, N, T, H)."""
    seed, length, bias = dropout.next_seed(training), ops.shape(query)[2], options.position_bias
    if bias is not None and bias.shape[2] == 1:  # one row for all queries; chunks take rows of it
        batch, heads, _, keys = ops.shape(bias)
        options = options._replace(position_bias=ops.broadcast_to(bias, (batch, heads, length, keys)))
    draws = None if seed is None else lambda index, shape: dropout.multipliers(shape, nth_seed(seed, index))
    chunk = chunk_size(length, width(ops.shape(key)[2], CHUNK, options.visible.window))
    return long_attention(query, key, value, options, draws, chunk)
