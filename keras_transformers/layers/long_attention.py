"""Attention whose memory grows linearly with the length: queries in chunks, scores computed again going backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import keras
from keras import ops

from keras_transformers.layers.products import attention_weights, group, mix, products
from keras_transformers.tensor import Tensor

CHUNK, LEAST = 256, 32  # queries whose scores exist at one time, the most and the least of them
SCORES = 2**21  # of one head that exist at one time, if there are more than the least of queries

# From the number of a chunk to what dropout multiplies its weights with, float32 (B, N, chunk, S): alike at each call.
Draws = Callable[[Tensor], Tensor]


def long_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    position_bias: Tensor | None = None,
    draws: Draws | None = None,
    chunk: int = CHUNK,
) -> Tensor:
    """What `mix(attention_weights(...), value)` gives, in memory that grows linearly with the number of queries.

    One chunk of queries after the other sees all keys, so that only one chunk's scores exist at a time. The backward
    pass computes them again.
    Papers: Rabe and Staats 2021, https://arxiv.org/abs/2112.05682; the gradient: Dao et al. 2022,
    https://arxiv.org/abs/2205.14135.

    Args:
        query: (B, N, T, H), scaled.
        key: (B, K, S, H).
        value: (B, K, S, H).
        attention_mask: Boolean (B|1, 1|T, S), True = may attend.
        position_bias: (B|1, N, T, S), which is quadratic itself, as is its gradient.
        draws: What dropout multiplies the weights of each chunk with; None for no dropout.
        chunk: Queries at a time.

    Returns:
        (B, N, T, H).

    Example:

    >>> long_attention(*np.ones((3, 1, 2, 5, 4), "float32"), chunk=2).shape.as_list()
    [1, 2, 5, 4]
    """
    if keras.backend.backend() == "tensorflow":
        return _on_tensorflow(query, key, value, attention_mask, position_bias, draws, chunk)
    chunks = _Chunks(query, attention_mask, position_bias, draws, chunk)
    attend = keras.remat(lambda index: _attend(chunks.at(index), key, value))
    return chunks.join(ops.map(attend, ops.arange(chunks.number)))


def chunk_size(queries: Tensor | int, keys: Tensor | int) -> Tensor | int:
    """Queries at a time for T queries and S keys: fewer where there are many keys.

    Example:

    >>> chunk_size(100, 100), chunk_size(8192, 8192), chunk_size(32768, 32768)
    (100, 256, 64)
    """
    if isinstance(queries, int) and isinstance(keys, int):
        return max(1, min(queries, CHUNK, max(LEAST, SCORES // max(keys, 1))))
    by_keys = ops.clip(SCORES // ops.maximum(keys, 1), LEAST, CHUNK)
    return ops.clip(queries, 1, by_keys)


class _Chunk(NamedTuple):
    """t queries, and what belongs to them."""

    query: Tensor  # (B, N, t, H), scaled
    attention_mask: Tensor | None  # boolean (B|1, 1|t, S)
    position_bias: Tensor | None  # (B|1, N, t, S)
    kept: Tensor | None  # float32 (B, N, t, S)


class _Chunks:
    """Queries, and what belongs to them, in chunks of t; zeros fill up the last one."""

    def __init__(self, query, attention_mask, position_bias, draws, size: int):
        self.length, self.size, self.draws = ops.shape(query)[2], size, draws
        self.number = -(-self.length // size)
        self.query = self.cut(query)
        self.position_bias = None if position_bias is None else self.cut(position_bias)
        self.attention_mask = attention_mask
        self.has_mask_rows = attention_mask is not None and attention_mask.shape[1] != 1
        if self.has_mask_rows:
            if attention_mask.shape[1] is None:  # it may be 1 all the same
                batch, _, keys = ops.shape(attention_mask)
                attention_mask = ops.broadcast_to(attention_mask, (batch, self.length, keys))
            self.attention_mask = self.cut(ops.expand_dims(attention_mask, 1))  # (B|1, 1, C, t, S)

    def cut(self, x):
        """(B, N, T, X) -> (B, N, C, t, X)."""
        batch, heads, _, width = ops.shape(x)
        padded = ops.pad(x, [[0, 0], [0, 0], [0, self.number * self.size - self.length], [0, 0]])
        return ops.reshape(padded, (batch, heads, self.number, self.size, width))

    def join(self, parts):
        """(C, B, N, t, X) -> (B, N, T, X)."""
        _, batch, heads, _, width = ops.shape(parts)
        joined = ops.transpose(parts, (1, 2, 0, 3, 4))  # (B, N, C, t, X)
        return ops.reshape(joined, (batch, heads, self.number * self.size, width))[:, :, : self.length]

    def at(self, index) -> _Chunk:
        mask = self.attention_mask
        return _Chunk(
            take(self.query, index),
            take(mask, index)[:, 0] if self.has_mask_rows else mask,
            None if self.position_bias is None else take(self.position_bias, index),
            None if self.draws is None else self.draws(index),
        )


def take(x: Tensor, index: Tensor) -> Tensor:
    """(B, N, C, t, X) -> (B, N, t, X)."""
    return ops.take(x, index, axis=2)


def _attend(chunk: _Chunk, key, value):
    """(B, N, t, H)."""
    weights = attention_weights(chunk.query, key, chunk.attention_mask, chunk.position_bias)  # (B, N, t, S)
    return mix(_dropped(weights, chunk.kept, value), value)


def _dropped(weights, kept, value):
    """(B, N, t, S)."""
    return ops.cast(weights if kept is None else weights * kept, value.dtype)


def _on_tensorflow(query, key, value, attention_mask, position_bias, draws, size: int):
    """TensorFlow would keep the scores of each round of a loop: its gradient is written out here."""
    import tensorflow as tf

    def attend(query, key, value, *bias):
        chunks = _Chunks(query, attention_mask, bias[0] if bias else None, draws, size)
        parts, _ = _loop(chunks.number, query, lambda index: (_attend(chunks.at(index), key, value), ()))
        output = chunks.join(parts)  # (B, N, T, H)

        def gradient(upstream):
            return _gradients(chunks, key, value, chunks.cut(output), chunks.cut(upstream))

        return output, gradient

    return tf.custom_gradient(attend)(query, key, value, *([] if position_bias is None else [position_bias]))


def _gradients(chunks: _Chunks, key, value, outputs, upstreams):
    """Of queries, keys, values and, if there is one, the bias; `outputs` and `upstreams` are (B, N, C, t, H)."""

    def chunk_gradients(index, key_sum, value_sum):
        chunk, upstream = chunks.at(index), take(upstreams, index)
        weights = attention_weights(chunk.query, key, chunk.attention_mask, chunk.position_bias)  # (B, N, t, S)
        of_value = _sums_over_queries(_dropped(weights, chunk.kept, value), upstream, value)  # (B, K, S, H)

        of_scores = _of_scores(chunk, weights, value, take(outputs, index), upstream)  # (B, N, t, S)
        of_scores = ops.cast(of_scores, key.dtype)
        of_key = _sums_over_queries(of_scores, chunk.query, key)  # (B, K, S, H)
        return mix(of_scores, key), (key_sum + of_key, value_sum + of_value)

    def bias_gradient(index):
        chunk = chunks.at(index)
        weights = attention_weights(chunk.query, key, chunk.attention_mask, chunk.position_bias)  # (B, N, t, S)
        of_scores = _of_scores(chunk, weights, value, take(outputs, index), take(upstreams, index))
        return _like(of_scores, chunk.position_bias), ()

    sums = [ops.zeros_like(x, dtype="float32") for x in (key, value)]
    of_query, sums = _loop(chunks.number, chunks.query, chunk_gradients, sums)
    gradients = [chunks.join(of_query), ops.cast(sums[0], key.dtype), ops.cast(sums[1], value.dtype)]
    if chunks.position_bias is not None:
        # A loop of its own: TensorFlow leaves it out where the bias has no weights to learn.
        of_bias, _ = _loop(chunks.number, chunks.position_bias, bias_gradient)
        gradients.append(chunks.join(of_bias))
    return gradients


def _of_scores(chunk: _Chunk, weights, value, output, upstream):
    """The gradient of the scores, float32 (B, N, t, S), from those of the output, (B, N, t, H)."""
    if chunk.attention_mask is not None:  # where a query sees no key, no score has a part in the output
        sees = ops.any(chunk.attention_mask, axis=-1)[:, None, :, None]  # (B|1, 1, 1|t, 1)
        upstream = ops.where(sees, upstream, 0.0)
    of_weights = ops.cast(products(upstream, value), "float32")  # (B, N, t, S)
    if chunk.kept is not None:
        of_weights = of_weights * chunk.kept
    mean = ops.sum(ops.cast(upstream, "float32") * ops.cast(output, "float32"), axis=-1, keepdims=True)  # (B, N, t, 1)
    return weights * (of_weights - mean)


def _sums_over_queries(weights, rows, like):
    """(B, N, t, S), (B, N, t, H) -> float32 (B, K, S, H), with the K of `like`."""
    sums = ops.einsum("bkts,bkth->bksh", group(weights, like), group(rows, like))
    return ops.cast(sums, "float32")


def _like(x, bias):
    """The gradient (B, N, t, S) of a bias that may have one row for all, which may be known only when it is there."""
    if bias.shape[0] is None:
        is_one = ops.equal(ops.shape(bias)[0], 1)
        sums = ops.cond(is_one, lambda: ops.sum(x, axis=0, keepdims=True), lambda: x)
        return ops.cast(sums, bias.dtype)
    return ops.cast(ops.sum(x, axis=0, keepdims=True) if bias.shape[0] == 1 else x, bias.dtype)


def _loop(number, like, body: Callable, carry: Sequence = ()) -> tuple[Tensor, list]:
    """What the rounds give, stacked, (C, B, N, t, X) in the dtype and width of `like`; and what the last one carries.

    Rounds of TensorFlow's loops overlap unless they are told not to: then the scores of several chunks exist at once.
    """
    import tensorflow as tf

    shape = (like.shape[0], like.shape[1], None, like.shape[-1])
    parts = tf.TensorArray(like.dtype, size=number, element_shape=shape)

    def one_round(index, parts, *carry):
        part, carry = body(index, *carry)
        return index + 1, parts.write(index, part), *carry

    start = (tf.constant(0), parts, *carry)
    _, parts, *carry = tf.while_loop(lambda index, *_: index < number, one_round, start, parallel_iterations=1)
    return parts.stack(), carry
