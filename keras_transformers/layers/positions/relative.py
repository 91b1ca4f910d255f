"""Relative positions, added to the attention scores."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.layers.core.table_rows import TableOwner, add_table, take_rows
from keras_transformers.layers.interface.input_checks import check_positions, check_sizes
from keras_transformers.layers.interface.layer_options import Positional


@keras.saving.register_keras_serializable("keras_transformers")
class RelativePositionBias(Positional, TableOwner):
    """T5's learned bias per head and bucket of distances, shared by all blocks of a stack.

    Near distances have a bucket each, farther ones share buckets of logarithmic width.
    Paper: Raffel et al. 2019, https://arxiv.org/abs/1910.10683.

    Args:
        num_heads: N.
        num_buckets: Rows of the table.
        max_distance: Distances from here on share the last bucket.
        bidirectional: Whether later keys have separate buckets (encoders) or share bucket 0 (decoders).
        embeddings_initializer, embeddings_regularizer, embeddings_constraint: As in `TokenEmbedding`; Glorot uniform.

    Call arguments:
        query_positions: Integer (1|B, T).
        key_positions: Integer (1|B, S).

    Returns:
        (1|B, N, T, S), for `Attention(position_bias=...)`.

    Example:

    >>> positions = np.arange(3)[None]
    >>> tuple(RelativePositionBias(num_heads=2)(positions, positions).shape)
    (1, 2, 3, 3)
    """

    initializer_range = None

    def __init__(
        self,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(num_heads=num_heads, num_buckets=num_buckets, max_distance=max_distance)
        self.num_heads = num_heads
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.bidirectional = bidirectional

    def build(self, query_positions_shape, key_positions_shape=None):
        self.embeddings = add_table(self, self.num_buckets, self.num_heads, "embeddings")

    def call(self, query_positions, key_positions):
        distances = _distances(query_positions, key_positions)  # (1|B, T, S)
        bias = take_rows(self.embeddings, self._buckets(distances), self.compute_dtype)  # (1|B, T, S, N)
        return ops.transpose(bias, (0, 3, 1, 2))  # (1|B, N, T, S)

    def _buckets(self, distances):
        num_buckets, offset = self.num_buckets, 0
        if self.bidirectional:
            num_buckets //= 2
            offset = ops.cast(distances > 0, "int32") * num_buckets
            distances = ops.abs(distances)
        else:
            distances = ops.maximum(-distances, 0)

        exact = num_buckets // 2
        ratio = ops.log(ops.cast(ops.maximum(distances, 1), "float32") / exact) / math.log(self.max_distance / exact)
        far = exact + ops.cast(ratio * (num_buckets - exact), "int32")
        return offset + ops.where(distances < exact, distances, ops.minimum(far, num_buckets - 1))

    def compute_output_spec(self, query_positions, key_positions):
        return _bias_spec(query_positions, key_positions, self.num_heads, self.compute_dtype)


@keras.saving.register_keras_serializable("keras_transformers")
class ALiBi(Positional):
    """A penalty on the scores that grows linearly with the distance, with one slope per head.

    Nothing is learned. Paper: Press et al. 2021, https://arxiv.org/abs/2108.12409.

    Args:
        num_heads: N.

    Call arguments:
        query_positions: Integer (1|B, T).
        key_positions: Integer (1|B, S).

    Returns:
        (1|B, N, T, S), for `Attention(position_bias=...)`; never positive, and symmetric in the distance.

    Example:

    >>> ALiBi(num_heads=1)(np.array([[5]]), np.array([[4, 3]])).numpy().tolist()
    [[[[-0.00390625, -0.0078125]]]]
    """

    def __init__(self, num_heads: int, **kwargs: Any):
        super().__init__(**kwargs)
        check_sizes(num_heads=num_heads)
        self.num_heads = num_heads

    def call(self, query_positions, key_positions):
        distances = ops.cast(ops.abs(_distances(query_positions, key_positions)), "float32")  # (1|B, T, S)
        slopes = np.array(_slopes(self.num_heads), "float32").reshape(1, -1, 1, 1)  # (1, N, 1, 1)
        return ops.cast(-ops.expand_dims(distances, 1) * slopes, self.compute_dtype)  # (1|B, N, T, S)

    def compute_output_spec(self, query_positions, key_positions):
        return _bias_spec(query_positions, key_positions, self.num_heads, self.compute_dtype)


def _slopes(num_heads: int) -> list[float]:
    """Return the paper's geometric series; if N is no power of two, the rest is every other slope of the next one."""
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    return slopes if power == num_heads else slopes + _slopes(2 * power)[::2][: num_heads - power]


def _distances(query_positions, key_positions):
    """Return the distances from queries to keys, (1|B, T, S), positive for later keys."""
    check_positions(query_positions=query_positions, key_positions=key_positions)
    keys = ops.cast(ops.expand_dims(key_positions, 1), "int32")  # (1|B, 1, S)
    queries = ops.cast(ops.expand_dims(query_positions, 2), "int32")  # (1|B, T, 1)
    return keys - queries


def _bias_spec(query_positions, key_positions, num_heads: int, dtype: str) -> keras.KerasTensor:
    check_positions(query_positions=query_positions, key_positions=key_positions)
    batch = key_positions.shape[0] if query_positions.shape[0] == 1 else query_positions.shape[0]
    return keras.KerasTensor((batch, num_heads, query_positions.shape[1], key_positions.shape[1]), dtype=dtype)
