"""Multi-head attention: the only attention layer of the library."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.dense import built_dense, length_of, with_length, without_length
from keras_transformers.layers.dropout import Dropout, nth_seed
from keras_transformers.layers.long_attention import chunk_size, long_attention
from keras_transformers.layers.products import attention_weights, mix
from keras_transformers.layers.rotary import rotate

LINEAR_FROM = 4096


@keras.saving.register_keras_serializable("keras_transformers")
class Attention(keras.layers.Layer):
    """Scaled dot-product attention with several heads: self-attention, cross-attention, and both with a cache.

    Each output is the mean of the values, weighted by the softmax of the scaled query-key products.
    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; grouped key/value heads: Ainslie et al. 2023,
    https://arxiv.org/abs/2305.13245.

    Args:
        num_heads: Query heads, N.
        head_dim: Width of a head, H; the width of the input divided by `num_heads` when None.
        num_kv_heads: Key and value heads, K, a divisor of N; N when None.
        scale: Factor of the query-key products; `1 / sqrt(H)` when None.
        dropout: Rate on the attention weights.
        use_bias: Whether the four projections have biases.
        return_scores: Whether the attention weights (before dropout) are returned as well.
        initializer_range: Standard deviation of the truncated normal initialiser; None for Glorot uniform (queries,
            keys and values as if they were one matrix, as fairseq has it), `"fan_in"` for `1 / sqrt(inputs)`. Without
            a number queries are made to fit `scale`, so that the initial scores do not depend on it.
        output_initializer_range: The same for the output layer; `initializer_range` when None.
        linear_from: From so many queries on their scores are computed in chunks, and once more for the gradient:
            memory grows linearly with their number. Where a TensorFlow graph is made for any number of them, they are
            in chunks always, a short text in one. None: never, nor with `return_scores` or a `cache`.

    Call arguments:
        hidden_states: Queries come from here, (B, T, D).
        context: Keys and values come from here, (B, S, D); `hidden_states` itself when None (self-attention).
        attention_mask: Boolean (B|1, 1|T, S), True = may attend. A row that may attend nothing gives finite numbers.
        position_bias: Added to the scaled products, (B|1, N, T, S).
        rotary: Cosines and sines of `RotaryPositions` for the positions of `hidden_states`.
        cache: `{"key", "value"}`, each (B, K, S, H). With `cache_positions`, the new keys and values are written there;
            without, the cache is only read (cross-attention after the first step).
        cache_positions: Integer (B, T), where in the cache each token of `hidden_states` belongs.
        in_place: Whether TensorFlow may overwrite the given cache, for loops that do not use it again. If not, it is
            copied at each call. Other backends ignore it.

    Returns:
        `(output, cache)`, or `(output, cache, scores)` with `return_scores`: output (B, T, D), cache as above, scores
        (B, N, T, S), float.

    Raises:
        ValueError: `num_kv_heads` does not divide `num_heads`, or the input's width is not divisible by `num_heads`.

    Example:

    >>> attention = Attention(num_heads=2)
    >>> output, cache = attention(np.ones((1, 3, 8)), attention_mask=np.array([[[True, True, False]]]))
    >>> tuple(output.shape), tuple(cache["key"].shape)
    ((1, 3, 8), (1, 2, 3, 4))
    """

    def __init__(
        self,
        num_heads: int,
        head_dim: int | None = None,
        num_kv_heads: int | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        return_scores: bool = False,
        initializer_range: float | str | None = 0.02,
        output_initializer_range: float | None = None,
        linear_from: int | None = LINEAR_FROM,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.num_kv_heads = num_kv_heads or num_heads
        self.scale = scale
        self.use_bias = use_bias
        self.return_scores = return_scores
        self.initializer_range = initializer_range
        self.output_initializer_range = output_initializer_range
        self.linear_from = linear_from
        if num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_kv_heads must divide num_heads: received num_heads={num_heads}, num_kv_heads={num_kv_heads}."
            )
        self.dropout = Dropout(dropout, dtype=self.dtype_policy.name, name="dropout")

    def build(self, hidden_states_shape, context_shape=None):
        width = hidden_states_shape[-1]
        if self.head_dim is None and width % self.num_heads:
            raise ValueError(
                f"the width of the input must be divisible by num_heads={self.num_heads}: received {width}. "
                "Give head_dim to choose the width of a head."
            )
        self.head_dim = self.head_dim or width // self.num_heads
        context_shape = context_shape or hidden_states_shape
        gain = math.sqrt(0.5) if self.initializer_range is None else 1.0  # Glorot's for (D, 3 * D)
        fitted = gain if self.scale is None else gain / math.sqrt(self.head_dim) / self.scale
        self.query = built_dense(self, "query", self.num_heads * self.head_dim, hidden_states_shape, fitted)
        self.key = built_dense(self, "key", self.num_kv_heads * self.head_dim, context_shape, gain)
        self.value = built_dense(self, "value", self.num_kv_heads * self.head_dim, context_shape, gain)
        self.output_dense = built_dense(self, "output", width, (None, None, self.num_heads * self.head_dim))

    def call(
        self,
        hidden_states,
        context=None,
        *,
        attention_mask=None,
        position_bias=None,
        rotary=None,
        cache=None,
        cache_positions=None,
        in_place=False,
        training=None,
    ):
        length, is_cached = length_of(hidden_states), cache is not None
        query = self._project(self.query, hidden_states, length, self.num_heads)  # (B, N, T, H)
        if rotary is not None:
            query = rotate(query, rotary)  # (B, N, T, H)

        if cache is None or cache_positions is not None:
            new_cache = self._keys_and_values(hidden_states if context is None else context, rotary)  # (B, K, T|S, H)
            cache = new_cache if cache is None else _write(new_cache, cache, cache_positions, in_place)  # (B, K, S, H)

        scale = 1 / math.sqrt(self.head_dim) if self.scale is None else self.scale
        query = query * ops.cast(scale, query.dtype)  # (B, N, T, H)
        key, value = cache["key"], cache["value"]  # (B, K, S, H)
        if self._is_short(query.shape[2], is_cached):
            weights = self._weights(query, key, attention_mask, position_bias)  # (B, N, T, S)
            mixed = mix(self.dropout(weights, training=training), value)  # (B, N, T, H)
        else:
            mixed = self._mix_long(query, key, value, attention_mask, position_bias, training)  # (B, N, T, H)

        output = with_length(self.output_dense(self._merge(mixed)), length)  # (B, T, D)
        return (output, cache, weights) if self.return_scores else (output, cache)

    def _is_short(self, length: int | None, is_cached: bool) -> bool:
        """Whether all scores may exist at one time."""
        if self.return_scores or self.linear_from is None or is_cached:
            return True
        return length is not None and length < self.linear_from

    def _weights(self, query, key, attention_mask, position_bias):
        """(B, N, T, S)."""
        return ops.cast(attention_weights(query, key, attention_mask, position_bias), self.compute_dtype)

    def _mix_long(self, query, key, value, attention_mask, position_bias, training):
        """(B, N, T, H), in memory that is linear in T."""
        seed, (batch, heads, length, _) = self.dropout.next_seed(training), ops.shape(query)
        keys = ops.shape(key)[2]
        chunk = chunk_size(length, keys)
        rows = (batch, heads, chunk, keys)  # B, N, t, S
        draws = None if seed is None else lambda index: self.dropout.multipliers(rows, nth_seed(seed, index))
        return long_attention(query, key, value, attention_mask, position_bias, draws, chunk)

    def _keys_and_values(self, context, rotary):
        length = length_of(context)
        key = self._project(self.key, context, length, self.num_kv_heads)  # (B, K, S, H)
        value = self._project(self.value, context, length, self.num_kv_heads)  # (B, K, S, H)
        return {"key": key if rotary is None else rotate(key, rotary), "value": value}

    def _project(self, dense, x, length, heads):
        """(B, T, D) -> (B, heads, T, H)."""
        projected = dense(without_length(x))  # (B * T, heads * H)
        if x.shape[1] == 1:
            return ops.reshape(projected, (-1, heads, 1, self.head_dim))
        projected = ops.reshape(projected, (-1, length, heads, self.head_dim))  # (B, T, heads, H)
        return ops.transpose(projected, (0, 2, 1, 3))

    def _merge(self, x):
        """(B, N, T, H) -> (B * T, N * H)."""
        if x.shape[2] != 1:
            x = ops.transpose(x, (0, 2, 1, 3))  # (B, T, N, H)
        return ops.reshape(x, (-1, self.num_heads * self.head_dim))

    def compute_output_spec(self, hidden_states, context=None, *, cache=None, **inputs):
        batch, length, width = hidden_states.shape
        if cache is None:
            source = hidden_states if context is None else context
            shape = (batch, self.num_kv_heads, source.shape[1], self._head_dim(width))
            cache = {name: keras.KerasTensor(shape, dtype=self.compute_dtype) for name in ("key", "value")}
        else:
            cache = {name: keras.KerasTensor(cache[name].shape, dtype=cache[name].dtype) for name in ("key", "value")}
        output = keras.KerasTensor((batch, length, width), dtype=self.compute_dtype)
        if not self.return_scores:
            return output, cache
        scores = (batch, self.num_heads, length, cache["key"].shape[2])
        return output, cache, keras.KerasTensor(scores, dtype=self.compute_dtype)

    def _head_dim(self, width: int) -> int:
        return self.head_dim or width // self.num_heads


def _write(new, cache, positions, in_place):
    """New keys and values, each (B, K, T, H), into a cache of room for S, each (B, K, S, H)."""
    rows = _flat_rows(positions, cache["key"])
    return {name: _update_rows(cache[name], rows, new[name], in_place) for name in ("key", "value")}


def _flat_rows(positions, cache):
    """(B, T) -> (B * K * T,): where every new key stands in a cache (B, K, S, H), seen as (B * K * S, H)."""
    heads, size = cache.shape[1], ops.shape(cache)[2]
    first_rows = ops.arange(ops.shape(positions)[0] * heads, dtype="int32") * size  # (B * K,)
    rows = ops.reshape(first_rows, (-1, heads, 1)) + ops.cast(positions, "int32")[:, None]  # (B, K, T)
    return ops.reshape(rows, (-1,))


def _update_rows(cache, rows, new, in_place):
    flat = without_length(cache)  # (B * K * S, H)
    new = ops.cast(without_length(new), cache.dtype)  # (B * K * T, H)
    if in_place and keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # All others copy the cache at every step, which takes longer than the step's attention.
        flat = tf.raw_ops.InplaceUpdate(x=flat, i=rows, v=new)
    else:
        # scatter_update is core TF on every path; slice_update would be an Xla op.
        flat = ops.scatter_update(flat, rows[:, None], new)
    return ops.reshape(flat, ops.shape(cache))  # (B, K, S, H)
