"""Chunks of queries, each with the keys that it may see, for attention over long texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_transformers.layers.attention.distance_scores import part
from keras_transformers.layers.attention.masks import asymmetric_window_mask, combine, document_mask
from keras_transformers.layers.attention.scores import ALL_KEYS, ScoreOptions, Visible
from keras_transformers.utils.tensor_types import Tensor

CHUNK, LEAST = 256, 32  # queries of a chunk: maximum and minimum
SCORES = 2**21  # maximum scores of a head in a chunk that has more than the minimum of queries

# From the index of a chunk and the shape of its weights, (B, N, t, W), to the factors of dropout: float32, the same at
# each call.
Draws = Callable[[Tensor, tuple], Tensor]


class Chunk(NamedTuple):
    """A chunk: t queries, the W keys that they may see, and the options of their scores and dropout."""

    query: Tensor  # (B, N, t, H), scaled
    key: Tensor  # (B, K, W, H)
    value: Tensor  # (B, K, W, H)
    options: ScoreOptions  # the mask (B|1, 1|t, W), a bias (B|1, N, t, S); beside a bias or distances W = S
    multipliers: Tensor | None  # of dropout, float32 (B, N, t, W)
    first_key: Tensor  # int32, the place of the first of the keys


class Chunks:
    """Attention in C chunks of t queries; zeros fill up the last one. Each takes W keys, no more than it may see.

    Args:
        query: (B, N, T, H), scaled.
        key, value: (B, K, S, H).
        options: The options of the scores; `distances` of C * t queries and S keys.
        draws: Draws of dropout, or None.
        size: t.
    """

    def __init__(
        self, query: Tensor, key: Tensor, value: Tensor, options: ScoreOptions, draws: Draws | None = None,
        size: Tensor | int = CHUNK,
    ):  # fmt: skip
        self.length, self.size, self.draws, self.options = ops.shape(query)[2], size, draws, options
        self.number = -(-self.length // size)
        self.key, self.value, self.keys = key, value, ops.shape(key)[2]
        # A bias is quadratic anyway: a chunk takes all of its columns.
        visible, position_bias, self.distances = options.visible, options.position_bias, options.distances
        self.has_windows = None not in visible.window and position_bias is None and self.distances is None
        self.width = width(self.keys, size, visible.window) if self.has_windows else self.keys
        self.weights_shape = (*ops.shape(query)[:2], size, self.width)  # B, N, t, W
        self.query = self.cut(query)
        self.position_bias = None if position_bias is None else self.cut(position_bias)
        self.attention_mask = visible.attention_mask
        self.has_mask_rows = self.attention_mask is not None and self.attention_mask.shape[1] != 1
        if self.has_mask_rows:
            self.attention_mask = self.cut(self._mask_rows())  # (B|1, 1, C, t, S)

    def cut(self, x: Tensor) -> Tensor:
        """Cut (B, N, T, X) into chunks, (B, N, C, t, X)."""
        batch, heads, _, last = ops.shape(x)
        padded = ops.pad(x, [[0, 0], [0, 0], [0, self.number * self.size - self.length], [0, 0]])
        return ops.reshape(padded, (batch, heads, self.number, self.size, last))

    def join(self, parts: Tensor) -> Tensor:
        """Join chunks (C, B, N, t, X) to (B, N, T, X)."""
        _, batch, heads, _, last = ops.shape(parts)
        joined = ops.transpose(parts, (1, 2, 0, 3, 4))  # (B, N, C, t, X)
        return ops.reshape(joined, (batch, heads, self.number * self.size, last))[:, :, : self.length]

    def at(self, index: Tensor) -> Chunk:
        """Return one of the chunks."""
        first_key = self._first_key(index)
        return Chunk(
            query=take(self.query, index),
            key=self._seen(self.key, first_key, axis=2),
            value=self._seen(self.value, first_key, axis=2),
            options=self._options(index, first_key),
            multipliers=None if self.draws is None else self.draws(index, self.weights_shape),
            first_key=first_key,
        )

    def _options(self, index, first_key):
        bias, distances = self.position_bias, self.distances
        bias = None if bias is None else take(bias, index)  # (B|1, N, t, S)
        distances = distances and part(distances, self.starts(index), self.size + self.keys)
        visible = Visible(self._mask(index, first_key))
        return self.options._replace(visible=visible, position_bias=bias, distances=distances)

    def starts(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return where the distances of a chunk begin, in `keys` and in `queries` of `distances`."""
        return (self.number - 1 - index) * self.size, index * self.size

    def _first_key(self, index):
        if not self.has_windows:
            return ops.convert_to_tensor(0, dtype="int32")
        before: Any = self.options.visible.window[0]
        return ops.clip(ops.cast(index, "int32") * self.size - before, 0, self.keys - self.width)

    def _mask(self, index, first_key):
        """Return the mask of a chunk, boolean (B|1, 1|t, W)."""
        mask, (_, documents, window) = self.attention_mask, self.options.visible
        if mask is not None:
            mask = self._seen(take(mask, index)[:, 0] if self.has_mask_rows else mask, first_key)
        queries = ops.cast(index, "int32") * self.size + ops.arange(self.size, dtype="int32")  # (t,)
        if documents is not None:
            # Queries that fill up the last chunk get the text of the last query: their outputs are cut off.
            own = ops.take(documents, ops.minimum(queries, self.length - 1), axis=1)  # (B, t)
            mask = combine(mask, document_mask(own, self._seen(documents, first_key)))
        if window != ALL_KEYS:
            keys = first_key + ops.arange(self.width, dtype="int32")  # (W,)
            mask = combine(mask, asymmetric_window_mask(queries[None], keys[None], *window))
        return mask

    def _seen(self, x, first_key, axis=-1):
        """Slice the W keys of a chunk out of S, along an axis."""
        if not self.has_windows:
            return x
        starts, sizes = [0] * len(x.shape), list(ops.shape(x))
        starts[axis], sizes[axis] = first_key, self.width
        return ops.slice(x, starts, sizes)

    def _mask_rows(self):
        """Return the mask with a row for each query, (B|1, 1, T, S)."""
        mask: Any = self.attention_mask
        if mask.shape[1] is None:  # an unknown size, which may be 1
            batch, _, keys = ops.shape(mask)
            mask = ops.broadcast_to(mask, (batch, self.length, keys))
        return ops.expand_dims(mask, 1)


def take(x: Tensor, index: Tensor) -> Tensor:
    """Take a chunk of (B, N, C, t, X): (B, N, t, X)."""
    return ops.take(x, index, axis=2)


def width(keys: Tensor | int, size: Tensor | int, window: tuple[int | None, int | None]) -> Tensor | int:
    """Return the number of keys, at most `keys`, that a chunk of `size` queries takes.

    Example:

    >>> width(1000, 256, (64, 64)), width(300, 256, (64, 64)), width(1000, 256, (None, 0))
    (384, 300, 1000)
    """
    before, after = window
    if before is None or after is None:
        return keys
    return _least(keys, before + size + after)


def chunk_size(queries: Tensor | int, keys: Tensor | int) -> Tensor | int:
    """Return the size of chunks for T queries and S keys: smaller if there are many keys.

    Example:

    >>> chunk_size(100, 100), chunk_size(8192, 8192), chunk_size(32768, 32768)
    (100, 256, 64)
    """
    if isinstance(queries, int) and isinstance(keys, int):
        return max(1, min(queries, CHUNK, max(LEAST, SCORES // max(keys, 1))))
    by_keys = ops.clip(SCORES // ops.maximum(keys, 1), LEAST, CHUNK)
    return ops.clip(queries, 1, by_keys)


def _least(one, other):
    return min(one, other) if isinstance(one, int) and isinstance(other, int) else ops.minimum(one, other)
