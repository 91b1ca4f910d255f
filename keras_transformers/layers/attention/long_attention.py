"""Attention whose memory grows linearly with the length: queries in chunks, scores computed again going backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.attention.distance_scores import Distances, chunk_scores, longer
from keras_transformers.layers.attention.products import group, mix, products
from keras_transformers.layers.attention.query_chunks import CHUNK, Chunk, Chunks, Draws, take
from keras_transformers.layers.attention.scores import PLAIN, ScoreOptions, attention_weights, products_gradient
from keras_transformers.layers.core.custom_gradient import custom_gradient
from keras_transformers.utils.tensor_types import Tensor


def long_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options: ScoreOptions = PLAIN,
    draws: Draws | None = None,
    chunk: int = CHUNK,
) -> Tensor:
    """Compute `mix(attention_weights(...), value)` in memory that grows linearly with the number of queries.

    Chunks of queries are computed one after the other, each with the keys that it may see, so that only one chunk's
    scores exist at a time. With a window, time grows linearly, too. The backward pass computes the scores again.
    Papers: Rabe and Staats 2021, https://arxiv.org/abs/2112.05682; the gradient: Dao et al. 2022,
    https://arxiv.org/abs/2205.14135.

    Args:
        query: (B, N, T, H), scaled.
        key: (B, K, S, H).
        value: (B, K, S, H); here H may differ.
        options: A `position_bias` (B|1, N, T, S) is quadratic itself, as is its gradient; the scores of `distances` are
            computed chunk by chunk. Where a query sees no key, its output is a mean of any values.
        draws: Function that returns the factors of dropout for the weights of a chunk; None for no dropout.
        chunk: Queries at a time.

    Returns:
        (B, N, T, H).

    Example:

    >>> long_attention(*np.ones((3, 1, 2, 5, 4), "float32"), chunk=2).shape.as_list()
    [1, 2, 5, 4]
    """
    if options.distances is not None:
        options = options._replace(distances=longer(options.distances, -ops.shape(query)[2] % chunk))
    if keras.backend.backend() == "tensorflow":
        return _on_tensorflow(query, key, value, options, draws, chunk)
    chunks = Chunks(query, key, value, options, draws, chunk)
    attend = keras.remat(lambda index: _attend(chunks.at(index)))
    return chunks.join(ops.map(attend, ops.arange(chunks.number)))


def _attend(chunk: Chunk):
    """Attend with one chunk of queries, (B, N, t, H)."""
    return mix(_dropped(_weights(chunk), chunk), chunk.value)


def _weights(chunk: Chunk):
    """Compute a chunk's attention weights, float32 (B, N, t, W)."""
    return attention_weights(chunk.query, chunk.key, chunk.options, in_chunks=True)


def _dropped(weights, chunk: Chunk):
    """Apply dropout to a chunk's weights, (B, N, t, W)."""
    return ops.cast(weights if chunk.multipliers is None else weights * chunk.multipliers, chunk.value.dtype)


def _on_tensorflow(query, key, value, options: ScoreOptions, draws, size: int):
    """Attend with a gradient written by hand, as TensorFlow's would keep the scores of every round of the loop."""
    position_bias, distances = options.position_bias, options.distances

    def attend(query, key, value, *more):
        bias = None if position_bias is None else more[0]
        vectors = None if distances is None else Distances(*more[-2:])
        chunks = Chunks(query, key, value, options._replace(position_bias=bias, distances=vectors), draws, size)
        parts, _ = _loop(chunks.number, query, lambda index: (_attend(chunks.at(index)), ()), last=value.shape[-1])
        output = chunks.join(parts)  # (B, N, T, H)

        def gradient(upstream):
            return _gradients(chunks, chunks.cut(output), chunks.cut(upstream))

        return output, gradient

    more = [*([] if position_bias is None else [position_bias]), *(distances or ())]
    return custom_gradient(attend)(query, key, value, *more)


def _gradients(chunks: Chunks, outputs, upstreams):
    """Compute the gradients of all inputs that there are, from `outputs` and `upstreams` (B, N, C, t, H)."""

    def chunk_gradients(index, key_sum, value_sum, *distance_sums):
        chunk, upstream = chunks.at(index), take(upstreams, index)
        weights = _weights(chunk)  # (B, N, t, W)
        of_value = _sums_over_queries(_dropped(weights, chunk), upstream, chunk.value)  # (B, K, W, H)

        of_scores = _of_scores(chunk, weights, take(outputs, index), upstream)  # (B, N, t, W)
        of_products = products_gradient(chunk.query, chunk.key, chunk.options, of_scores)  # (B, N, t, W)
        of_products = ops.cast(of_products, chunk.key.dtype)
        of_key = _sums_over_queries(of_products, chunk.query, chunk.key)  # (B, K, W, H)
        of_query = mix(of_products, chunk.key)  # (B, N, t, H)
        if chunk.options.distances is not None:
            more_of_query, more_of_key, *of_distances = _of_distances(chunk, ops.cast(of_scores, chunk.key.dtype))
            of_query, of_key = of_query + more_of_query, of_key + more_of_key
            distance_sums = tuple(map(_add_rows, distance_sums, of_distances, chunks.starts(index)))
        return of_query, (add(key_sum, of_key, chunk), add(value_sum, of_value, chunk), *distance_sums)

    def bias_gradient(index):
        chunk = chunks.at(index)
        of_scores = _of_scores(chunk, _weights(chunk), take(outputs, index), take(upstreams, index))  # (B, N, t, S)
        return _like(of_scores, chunk.options.position_bias), ()

    def add(sums, part, chunk):
        """Add a chunk's part (B, K, W, H) to sums (B, K, S, H)."""
        return _add_rows(sums, part, chunk.first_key) if chunks.has_windows else sums + part

    sums = [ops.zeros_like(x, dtype="float32") for x in (chunks.key, chunks.value, *(chunks.distances or ()))]
    of_query, sums = _loop(chunks.number, chunks.query, chunk_gradients, sums)
    of_key, of_value, *of_distances = (ops.cast(x, chunks.key.dtype) for x in sums)
    gradients = [chunks.join(of_query), of_key, of_value]
    if chunks.position_bias is not None:
        # A loop of its own: TensorFlow leaves it out where the bias has no weights to learn.
        of_bias, _ = _loop(chunks.number, chunks.position_bias, bias_gradient)
        gradients.append(chunks.join(of_bias))
    return [*gradients, *of_distances]


def _of_distances(chunk: Chunk, upstream):
    """Compute what distances add to the gradients of queries, keys and distances, from the gradient of the scores.

    Args:
        chunk: With distances.
        upstream: (B, N, t, S).

    Returns:
        Those of the queries, in their dtype, and of keys and distances, float32 like the sums of all chunks.
    """
    import tensorflow as tf

    distances: Any = chunk.options.distances
    inputs = [chunk.query, chunk.key, *distances]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        scores = chunk_scores(chunk.query, chunk.key, distances)  # (B, N, t, S)
    of_query, *others = tape.gradient(scores, inputs, upstream)
    return of_query, *(ops.cast(x, "float32") for x in others)


def _of_scores(chunk: Chunk, weights, output, upstream):
    """Compute the gradient of the scores, float32 (B, N, t, W), from the gradient of the output, (B, N, t, H)."""
    of_weights = ops.cast(products(upstream, chunk.value), "float32")  # (B, N, t, W)
    if chunk.multipliers is not None:
        of_weights = of_weights * chunk.multipliers
    mean = ops.sum(ops.cast(upstream, "float32") * ops.cast(output, "float32"), axis=-1, keepdims=True)  # (B, N, t, 1)
    of_scores = weights * (of_weights - mean)
    mask = chunk.options.visible.attention_mask
    # Where a query sees no key, hidden ones have weights, but scores of hidden keys are a constant.
    return of_scores if mask is None else ops.where(ops.expand_dims(mask, 1), of_scores, 0.0)


def _sums_over_queries(weights, rows, like):
    """Sum rows (B, N, t, H) weighted by (B, N, t, W) over queries: float32 (B, K, W, H), with the K of `like`."""
    sums = ops.einsum("bkts,bkth->bksh", group(weights, like), group(rows, like))
    return ops.cast(sums, "float32")


def _add_rows(sums, part, first):
    """Add (B, K, W, H) to the rows of (B, K, S, H) from `first` on; TensorFlow does it in place in a loop."""
    import tensorflow as tf

    batch, heads, length, last = ops.shape(sums)
    rows = first + ops.arange(ops.shape(part)[2], dtype="int32")  # (W,)
    rows = ops.expand_dims(ops.arange(batch * heads, dtype="int32"), 1) * length + rows  # (B * K, W)
    flat = ops.reshape(sums, (batch * heads * length, last))  # (B * K * S, H)
    flat = tf.tensor_scatter_nd_add(flat, ops.reshape(rows, (-1, 1)), ops.reshape(part, (-1, last)))
    return ops.reshape(flat, (batch, heads, length, last))


def _like(x, bias):
    """Sum a gradient (B, N, t, S) over the batch if the bias has one row for all, known perhaps only at run time."""
    if bias.shape[0] is None:
        is_one = ops.equal(ops.shape(bias)[0], 1)
        sums = ops.cond(is_one, lambda: ops.sum(x, axis=0, keepdims=True), lambda: x)
        return ops.cast(sums, bias.dtype)
    return ops.cast(ops.sum(x, axis=0, keepdims=True) if bias.shape[0] == 1 else x, bias.dtype)


def _loop(number, like, body: Callable, carry: Sequence = (), last: int | None = None) -> tuple[Tensor, list]:
    """Return the outputs of all rounds, (C, B, N, t, X), and the last round's carry.

    Outputs have the dtype of `like`, and its width or `last`.

    Rounds run one at a time: TensorFlow would overlap them, with the scores of several chunks at once.
    """
    import tensorflow as tf

    shape = (like.shape[0], like.shape[1], None, like.shape[-1] if last is None else last)
    parts = tf.TensorArray(like.dtype, size=number, element_shape=shape)

    def one_round(index, parts, *carry):
        part, carry = body(index, *carry)
        return index + 1, parts.write(index, part), *carry

    start = (tf.constant(0), parts, *carry)
    _, parts, *carry = tf.while_loop(lambda index, *_: index < number, one_round, start, parallel_iterations=1)
    return parts.stack(), list(carry)
