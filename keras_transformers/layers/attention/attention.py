"""Multi-head attention: the only attention layer of the library."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.attention.cache import write_cache
from keras_transformers.layers.attention.call_checks import check_call
from keras_transformers.layers.attention.distance_scores import Distances, by_distance, with_distances
from keras_transformers.layers.attention.fused_attention import fused_attention, fused_implementation
from keras_transformers.layers.attention.long_attention import long_attention
from keras_transformers.layers.attention.masks import cached_mask, combine
from keras_transformers.layers.attention.products import attention_weights, mix
from keras_transformers.layers.attention.query_chunks import CHUNK, Visible, checked_reach, chunk_size, width
from keras_transformers.layers.core.dense import built_dense, length_of, with_length, without_length
from keras_transformers.layers.core.dropout import Dropout, nth_seed
from keras_transformers.layers.interface.given_masks import Sizes, carried, combined
from keras_transformers.layers.interface.input_checks import (
    as_array,
    check_positive,
    check_rates,
    check_shape,
    check_sizes,
)
from keras_transformers.layers.interface.layer_options import DenseOwner
from keras_transformers.layers.interface.old_files import ReturnsCache
from keras_transformers.layers.interface.optional_outputs import requested
from keras_transformers.layers.positions.rotary import rotate

LINEAR_FROM = 4096


@keras.saving.register_keras_serializable("keras_transformers")
class Attention(ReturnsCache, DenseOwner):
    """Scaled dot-product attention with several heads: self-attention, cross-attention, and both with a cache.

    Each output is the mean of the values, weighted by the softmax of the scaled query-key products.
    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; grouped key/value heads: Ainslie et al. 2023,
    https://arxiv.org/abs/2305.13245.

    Args:
        num_heads: Query heads, N.
        head_dim: Width of a head, H; the width of the input divided by `num_heads` when None.
        num_kv_heads: Key and value heads, K, a divisor of N; N when None.
        scale: Factor of the query-key products; `1 / sqrt(H)` when None, `1 / sqrt(3 * H)` with `relative_positions`.
        dropout: Rate on the attention weights. With one, training uses no fused attention (`fused_attention.py`).
        use_bias: Whether the four projections have biases.
        return_scores: Whether each call returns the attention weights (before dropout) as well. Set it if a functional
            model calls the layer both with and without them: all calls must return the same structure.
        return_cache: Whether each call returns the cache as well.
        initializer_range: Standard deviation of the truncated normal initialiser; None for Glorot uniform (queries,
            keys and values as if they were one matrix, as fairseq has it), `"fan_in"` for `1 / sqrt(inputs)`. Without
            a number, queries are initialised to fit `scale`, so that the initial scores do not depend on it.
        output_initializer_range: The same for the output layer; `initializer_range` when None.
        linear_from: Number of queries from which scores are computed in chunks, and again for the gradient, so that
            memory grows linearly with the length. A TensorFlow graph for any length always uses chunks, one for a short
            text. None: never. Calls with a `cache` never do.
        reach: The window: how many keys before and after itself a query sees, None for all. `(None, 0)` is causal. In
            self-attention without a cache the layer hides the other keys, and long texts take time and memory for the
            window only; with a cache, `attention_mask` must hide them.

        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint:
            For the four dense layers, as in `keras.layers.Dense`. A `kernel_initializer` replaces the ranges.

    Call arguments:
        hidden_states: The source of the queries, (B, T, D).
        context: The source of keys and values, (B, S, any width); `hidden_states` when None (self-attention).
        attention_mask: True or 1 = may attend, (B|1, 1|T, S); also (T, S), (B|1, 1, 1|T, S) and, with a mask for each
            head, (B|1, N, T, S). A row that may attend to nothing gives finite numbers.
        padding_mask: (B, S), non-zero where a key is real; without a `cache` the mask that Keras carries with
            `context`, or with `hidden_states` in self-attention, when None. It is combined with an `attention_mask`.
        use_causal_mask: Whether a query sees no later keys. Positions are 0, 1, 2, ..., or `cache_positions`.
        documents: Integer (B, T), of self-attention without a cache: the text of each token, from 1, 0 for padding.
            A query sees the keys of its own text only: `document_mask(documents)`, in linear memory.
        position_bias: Added to the scaled products, (B|1, N, T, S).
        rotary: Cosines and sines of `RotaryPositions` for the positions of `hidden_states`.
        relative_positions: Table and rows of `DisentangledPositions` for the positions of `hidden_states`, in
            self-attention without a cache. The layers of queries and keys project the table too, and its products with
            keys and queries are added to theirs (He et al. 2021, https://arxiv.org/abs/2006.03654).
        cache: `{"key", "value"}`, each (B, K, S, H). With `cache_positions`, the new keys and values are written there;
            if not, the cache is only read (cross-attention after the first step).
        cache_positions: Integer (B, T), where in the cache each token of `hidden_states` belongs.
        in_place: Whether TensorFlow may overwrite the given cache, for loops that do not use it again. If not, it is
            copied at each call. Other backends ignore it.
        return_attention_scores: Whether this call returns the attention weights; `return_scores` when None.
        return_cache: Whether this call returns the cache; the layer's `return_cache` when None. A call with a `cache`
            always returns one.
        mask: (B, T), Keras' mask of `hidden_states`: the `padding_mask` of self-attention without a cache, if none is
            given.

    Returns:
        The output (B, T, D). If more is asked for, a tuple: the output; the cache, as above; the attention weights
        (B, N, T, S), float.

    Raises:
        ValueError: `num_kv_heads` does not divide `num_heads`, or the input's width is not divisible by `num_heads`;
            `reach` is no pair of numbers; `documents` are given with a `context` or a cache, or a `reach` with a
            `context`; an input or a mask has another shape or dtype.

    Example:

    >>> attention = Attention(num_heads=2)
    >>> attention(np.ones((1, 3, 8)), padding_mask=np.array([[1, 1, 0]])).shape.as_list()
    [1, 3, 8]
    >>> output, scores = attention(np.ones((1, 3, 8)), use_causal_mask=True, return_attention_scores=True)
    >>> scores.shape.as_list()
    [1, 2, 3, 3]
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
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        linear_from: int | None = LINEAR_FROM,
        reach: tuple[int | None, int | None] = (None, None),
        return_cache: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(num_heads=num_heads, head_dim=head_dim, num_kv_heads=num_kv_heads, linear_from=linear_from)
        check_rates(dropout=dropout)
        check_positive(scale=scale)
        self.num_heads = num_heads
        self.head_dim: Any = head_dim  # a number from `build` on
        self.num_kv_heads = num_kv_heads or num_heads
        self.scale, self.use_bias = scale, use_bias
        self.return_scores, self.return_cache = return_scores, return_cache
        self.initializer_range = initializer_range
        self.output_initializer_range = output_initializer_range
        self.linear_from = linear_from
        self.reach = checked_reach(reach)
        self.supports_masking = True
        if num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_kv_heads must divide num_heads: received num_heads={num_heads}, num_kv_heads={num_kv_heads}."
            )
        self.dropout = Dropout(dropout, dtype=self.dtype_policy.name, name="dropout")

    def build(self, hidden_states_shape, context_shape=None):
        check_shape(hidden_states_shape)
        self.expect_width(hidden_states_shape)
        check_shape(context_shape or hidden_states_shape, "context")
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
        self, hidden_states, context=None, *, attention_mask=None, padding_mask=None, use_causal_mask=False,
        documents=None, position_bias=None, rotary=None, relative_positions=None, cache=None, cache_positions=None,
        in_place=False, return_attention_scores=None, return_cache=None, mask=None, training=None,
    ):  # fmt: skip
        wanted = requested(self, cache, return_cache, return_attention_scores)
        documents, position_bias = as_array(documents), as_array(position_bias)
        length, is_cached = length_of(hidden_states), cache is not None
        check_call(self, hidden_states, context, documents, rotary, relative_positions, cache, cache_positions)
        source = hidden_states if context is None else context
        query = self._query(hidden_states, rotary, length, self.score_scale(relative_positions))  # (B, N, T, H)
        if not is_cached:
            cache = self._keys_and_values(source, rotary)  # (B, K, S, H)
        elif cache_positions is not None:
            cache = write_cache(self._keys_and_values(source, rotary), cache, cache_positions, in_place)  # (B, K, S, H)

        key, value = cache["key"], cache["value"]  # (B, K, S, H)
        if padding_mask is None and not is_cached:
            padding_mask = carried(source, mask if context is None else None)  # (B, S)
        sizes = Sizes(query.shape[0], self.num_heads, query.shape[2], key.shape[2])
        attention_mask, position_bias = combined(attention_mask, padding_mask, documents, position_bias, sizes)
        visible = Visible(attention_mask)
        reach = (self.reach[0], 0) if use_causal_mask else self.reach
        if not is_cached and context is None:
            visible = Visible(attention_mask, documents, reach)
        elif use_causal_mask:
            visible = Visible(combine(attention_mask, cached_mask(cache_positions, length, key, reach)))  # (1|B, T, S)

        distances = self.distance_vectors(relative_positions)
        inputs = (query, key, value, visible, position_bias, distances)
        mixed, scores = self._attend(*inputs, length, is_cached, wanted.scores, training)
        output = with_length(self.output_dense(self._merge(mixed)), length)  # (B, T, D)
        return wanted.outputs(output, cache, scores)

    def score_scale(self, relative_positions: Any = None) -> float:
        """Return the factor of the query-key products, in a call with or without `relative_positions`."""
        terms = 1 if relative_positions is None else 3
        return 1 / math.sqrt(self.head_dim * terms) if self.scale is None else self.scale

    def _query(self, hidden_states, rotary, length, scale):
        """Return the queries times the scale, (B, N, T, H)."""
        query = self._project(self.query, hidden_states, length, self.num_heads)
        return (query if rotary is None else rotate(query, rotary)) * ops.cast(scale, query.dtype)

    def distance_vectors(self, relative_positions: Any) -> Distances | None:
        """Return the vectors of distances by head, if there are any."""
        if relative_positions is None:
            return None
        table, rows = relative_positions
        length, table = ops.shape(table)[0], ops.expand_dims(table, 0)  # (1, R, D)
        keys = self._project(self.key, table, length, self.num_kv_heads)  # (1, N, R, H)
        return by_distance(keys, self._query(table, None, length, self.score_scale(relative_positions)), rows)

    def _attend(self, query, key, value, visible, position_bias, distances, length, is_cached, with_scores, training):
        """Return what the heads read, (B, N, T, H), and a list of the weights (B, N, T, S), or of none."""
        scores, kernel, is_short = [], None, self._is_short(query.shape[2], is_cached)
        if distances is None and not self.dropout.drops(training):  # kernels have neither
            kernel = fused_implementation(query, key, value, visible, position_bias, is_short)

        if with_scores or (is_short and kernel is None):  # a graph drops those that nothing uses
            bias = with_distances(position_bias, query, key, distances)  # (B|1, N, T, S)
            weights = attention_weights(query, key, visible.whole(length), bias)
            scores = [ops.cast(weights, self.compute_dtype)]  # (B, N, T, S)
        if kernel is not None:
            return fused_attention(query, key, value, visible, position_bias, kernel), scores
        if is_short:
            return mix(self.dropout(scores[0], training=training), value), scores
        return self._mix_long(query, key, value, visible, position_bias, distances, training), scores

    def _is_short(self, length: int | None, is_cached: bool) -> bool:
        """Return whether all scores are computed at once, not in chunks."""
        if self.linear_from is None or is_cached:
            return True
        if not isinstance(length, int):  # unknown: None in TensorFlow; in JAX a symbol, which has no number of chunks
            return length is not None
        return length < self.linear_from

    def _mix_long(self, query, key, value, visible, position_bias, distances, training):
        """Attend in memory that is linear in T; the result is (B, N, T, H)."""
        seed, length = self.dropout.next_seed(training), ops.shape(query)[2]
        if position_bias is not None and position_bias.shape[2] == 1:  # one row for all queries; chunks take rows of it
            batch, heads, _, keys = ops.shape(position_bias)
            position_bias = ops.broadcast_to(position_bias, (batch, heads, length, keys))  # (B|1, N, T, S)
        draws = None if seed is None else lambda index, shape: self.dropout.multipliers(shape, nth_seed(seed, index))
        chunk = chunk_size(length, width(ops.shape(key)[2], CHUNK, visible.reach))
        return long_attention(query, key, value, visible, position_bias, draws, chunk, distances)

    def _keys_and_values(self, context, rotary):
        length = length_of(context)
        key = self._project(self.key, context, length, self.num_kv_heads)  # (B, K, S, H)
        value = self._project(self.value, context, length, self.num_kv_heads)  # (B, K, S, H)
        return {"key": key if rotary is None else rotate(key, rotary), "value": value}

    def _project(self, dense, x, length, heads):
        """Project (B, T, D) to (B, heads, T, H)."""
        projected = dense(without_length(x))  # (B * T, heads * H)
        if x.shape[1] == 1:
            return ops.reshape(projected, (-1, heads, 1, self.head_dim))
        projected = ops.reshape(projected, (-1, length, heads, self.head_dim))  # (B, T, heads, H)
        return ops.transpose(projected, (0, 2, 1, 3))

    def _merge(self, x):
        """Merge the heads: (B, N, T, H) to (B * T, N * H)."""
        if x.shape[2] != 1:
            x = ops.transpose(x, (0, 2, 1, 3))  # (B, T, N, H)
        return ops.reshape(x, (-1, self.num_heads * self.head_dim))

    def compute_output_spec(
        self, hidden_states, context=None, *, cache=None, return_attention_scores=None, return_cache=None,
        attention_mask=None, padding_mask=None, documents=None, position_bias=None, rotary=None,
        relative_positions=None, cache_positions=None, **inputs
    ):  # fmt: skip
        documents, position_bias = as_array(documents), as_array(position_bias)
        check_call(self, hidden_states, context, documents, rotary, relative_positions, cache, cache_positions)
        wanted = requested(self, cache, return_cache, return_attention_scores)
        batch, length, width = hidden_states.shape
        source = hidden_states if context is None else context
        shape = (batch, self.num_kv_heads, source.shape[1], self._head_dim(width))
        cache = cache or dict.fromkeys(("key", "value"), keras.KerasTensor(shape, dtype=self.compute_dtype))
        new = {name: keras.KerasTensor(cache[name].shape, dtype=cache[name].dtype) for name in ("key", "value")}
        scores = (batch, self.num_heads, length, new["key"].shape[2])
        combined(attention_mask, padding_mask, documents, position_bias, Sizes(*scores))
        output = keras.KerasTensor((batch, length, width), dtype=self.compute_dtype)
        return wanted.outputs(output, new, [keras.KerasTensor(scores, dtype=self.compute_dtype)])

    def part_shape(self, hidden_states_shape: tuple) -> tuple:
        """Return the shape of a part of the cache for hidden states (B, T, D): (B, K, None, H)."""
        return hidden_states_shape[0], self.num_kv_heads, None, self._head_dim(hidden_states_shape[-1])

    def _head_dim(self, width: int) -> int:
        return self.head_dim or width // self.num_heads
