"""The cache that blocks keep of earlier tokens, each part (B, K, S, H) or a state: checks, writing, reading."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.layers.core.dense import length_of, with_length, without_length
from keras_transformers.layers.interface.input_checks import check_integers, check_numbers_of_rows, format_shape
from keras_transformers.utils.tensor_types import Tensor, may_be_equal

OF_CONTEXT = "cross_"  # prefix of the parts that are computed from the context
MEMORY = "state_memory"  # in which rounding errors of half precision would add up
OF_STATE = "state_"  # prefix of the parts that hold all earlier tokens together: they have no places, and do not grow


def has_places(name: str) -> bool:
    """Return whether a part of a cache has a place for each token, by its name; if not, it is a state.

    Example:

    >>> has_places("key"), has_places("state_inputs")
    (True, False)
    """
    return not name.startswith(OF_STATE)


def part_dtype(name: str, dtype: str) -> str:
    """Return the dtype of a part of a cache in a model that computes in `dtype`: sums of many tokens are float32.

    Example:

    >>> part_dtype("key", "bfloat16"), part_dtype("state_memory", "bfloat16")
    ('bfloat16', 'float32')
    """
    return "float32" if name == MEMORY else dtype


def parted(cache: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Split a block's cache into the parts of the text and the parts of the context, named without prefix.

    Example:

    >>> parted({"key": 1, "cross_key": 2})
    ({'key': 1}, {'key': 2})
    """
    own = {name: part for name, part in cache.items() if not name.startswith(OF_CONTEXT)}
    return own, {name.removeprefix(OF_CONTEXT): cache[name] for name in cache if name not in own}


def joined(own: dict[str, Tensor], of_context: dict[str, Tensor]) -> dict[str, Tensor]:
    """Join the parts of a block's cache: the inverse of `parted`.

    Example:

    >>> joined({"key": 1}, {"key": 2})
    {'key': 1, 'cross_key': 2}
    """
    return own | {OF_CONTEXT + name: part for name, part in of_context.items()}


def check_cache(cache: Any, sizes: dict[str, tuple], cache_positions: Any, queries: tuple, writes: bool = True) -> None:
    """Check a cache and the positions of new tokens in it.

    Args:
        cache: The cache that a call is given, or None.
        sizes: (B, K, S, H) of each part, or the shape of a state; None for a size that may be any.
        cache_positions: Integer (B, T), or None.
        queries: Shape (B, T) of the new tokens, None for an unknown size.
        writes: Whether the new tokens must have positions in a cache.

    Raises:
        ValueError: A part is missing or has another shape; the positions are missing, have another shape, or are
            outside.

    Example:

    >>> check_cache({"key": np.zeros((1, 1, 3, 2))}, {"key": (1, 1, None, 2)}, np.array([[2]]), (1, 1))
    """
    if cache is None:
        if cache_positions is not None:
            raise ValueError("cache_positions are places in a cache: received them without a cache.")
        return
    parts = {name: tuple(cache[name].shape) for name in sizes if name in cache} if isinstance(cache, dict) else {}
    if parts.keys() != sizes.keys() or not all(may_be_equal(parts[name], sizes[name]) for name in parts):
        raise ValueError(
            f"a cache must be a dict of {', '.join(f'{name} {format_shape(size)}' for name, size in sizes.items())}, "
            "(batch, heads, room, width) each, but for states: received "
            f"{', '.join(f'{name} {format_shape(shape)}' for name, shape in parts.items()) or type(cache).__name__}."
        )
    if cache_positions is None:
        if writes:
            raise ValueError("a cache needs cache_positions, the places (batch, length) of the new tokens in it.")
        return
    check_integers(cache_positions=cache_positions)
    if not may_be_equal(tuple(cache_positions.shape), queries):
        raise ValueError(
            f"cache_positions must be (batch, length), {format_shape(queries)} here: received "
            f"{format_shape(tuple(cache_positions.shape))}."
        )
    room = next((shape[2] for name, shape in parts.items() if has_places(name)), None)
    if isinstance(room, int):
        remedy = "Make a cache with more room: pad its parts."
        check_numbers_of_rows(cache_positions, room, "cache_positions", remedy)


def write_cache(
    new: dict[str, Tensor], cache: dict[str, Tensor], positions: Tensor, in_place: bool = False
) -> dict[str, Tensor]:
    """Write new parts, each (B, K, T, H), into a cache of length S.

    Args:
        new: Parts by name.
        cache: The same parts, each (B, K, S, H).
        positions: Integer (B, T), the position in the cache of each new row.
        in_place: Whether TensorFlow may overwrite the given cache, for loops that do not use it again.

    Returns:
        The new cache.

    Example:

    >>> cache = write_cache({"key": np.ones((1, 1, 1, 2))}, {"key": np.zeros((1, 1, 3, 2))}, np.array([[1]]))
    >>> np.array(cache["key"])[0, 0].tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """
    rows = _flat_rows(positions, next(iter(cache.values())))
    return {name: _update_rows(cache[name], rows, part, in_place) for name, part in new.items()}


def read_cache(part: Tensor, positions: Tensor) -> Tensor:
    """Return rows of a part with one head.

    Args:
        part: (B, 1, S, H).
        positions: Integer (B, T), which rows.

    Returns:
        (B, T, H).

    Example:

    >>> np.array(read_cache(np.arange(4.0).reshape(1, 1, 4, 1), np.array([[2, 0]])))[0, :, 0].tolist()
    [2.0, 0.0]
    """
    return take_places(part, positions)[:, 0]  # (B, T, H)


def take_places(part: Tensor, places: Tensor) -> Tensor:
    """Return the rows of a part (B, K, S, H) at places, integer (B, T): (B, K, T, H).

    Example:

    >>> np.array(take_places(np.arange(6.0).reshape(1, 2, 3, 1), np.array([[2, 0]])))[0, :, :, 0].tolist()
    [[2.0, 0.0], [5.0, 3.0]]
    """
    heads, width = part.shape[1], part.shape[3]
    rows = ops.take(without_length(part), _flat_rows(places, part), axis=0)  # (B * K * T, H)
    return ops.reshape(rows, (-1, heads, length_of(places), width))  # (B, K, T, H)


def _flat_rows(positions: Tensor, part: Tensor) -> Tensor:
    """Return the indices (B * K * T,) of positions (B, T) in a part (B, K, S, H), flattened to (B * K * S, H)."""
    heads, size = part.shape[1], ops.shape(part)[2]
    first_rows = ops.arange(ops.shape(positions)[0] * heads, dtype="int32") * size  # (B * K,)
    rows = ops.reshape(first_rows, (-1, heads, 1)) + ops.cast(positions, "int32")[:, None]  # (B, K, T)
    return ops.reshape(rows, (-1,))


def _update_rows(part: Tensor, rows: Tensor, new: Tensor, in_place: bool) -> Tensor:
    flat = without_length(part)  # (B * K * S, H)
    new = ops.cast(without_length(new), part.dtype)  # (B * K * T, H)
    if in_place and keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # All other ops copy the cache at every step, which takes longer than the step's attention.
        flat = tf.raw_ops.InplaceUpdate(x=flat, i=rows, v=new)
    else:
        # scatter_update is core TF on every path; slice_update would be an Xla op.
        flat = ops.scatter_update(flat, rows[:, None], new)
    return ops.reshape(flat, ops.shape(part))  # (B, K, S, H)


def attend_as_queries_of_one_row(attention: Any, x: Tensor, cache: dict[str, Tensor], **options: Any) -> tuple:
    """Attend to a cache that has one row for all beams of a text: the beams become more queries of that row.

    Args:
        attention: An `Attention`.
        x: (B, T, D).
        cache: `{"key", "value"}`, each (B / n, K, S, H).
        **options: Call arguments of `Attention`.

    Returns:
        What `Attention` returns.
    """
    rows, length = ops.shape(cache["key"])[0], length_of(x)
    queries = ops.reshape(x, (rows, -1, x.shape[-1]))  # (rows, B / rows * T, D)
    output, cache, *scores = attention(queries, cache=cache, **options)

    scores = [ops.swapaxes(weights, 1, 2) for weights in scores]  # (rows, B / rows * T, N, S')
    scores = [ops.reshape(weights, (-1, length, *ops.shape(weights)[2:])) for weights in scores]  # (B, T, N, S')
    scores = [ops.swapaxes(weights, 1, 2) for weights in scores]  # (B, N, T, S')
    return with_length(output, length), cache, *scores
