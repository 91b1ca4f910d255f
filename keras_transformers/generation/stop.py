"""Stop strings: found in the bytes of the new text, wherever they lie across tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_transformers.layers.core.gather import take_at
from keras_transformers.utils.static_shapes import needs_static_shapes
from keras_transformers.utils.tensor_types import Tensor

NO_BYTE = 256  # equals no byte
NOWHERE = 2**30  # where no stop string begins
MOST_STRINGS = 64  # of a row
MOST_BYTES = 1024  # of one string; a step compares at most MOST_STRINGS * MOST_BYTES bytes for each new byte of a row
TOO_MUCH = f"stop takes at most {MOST_STRINGS} strings of at most {MOST_BYTES:,} bytes."


class StopStrings(NamedTuple):
    """Stop strings of each row.

    Args:
        strings: int32 (B, n, M), their bytes, aligned on the right; values to the left of them are ignored.
        lengths: int32 (B, n), in bytes; 0 for none.
    """

    strings: Tensor
    lengths: Tensor


def stop_strings(rows: int, strings: Sequence[bytes]) -> StopStrings:
    """Return the same stop strings for all rows, as arrays.

    Example:

    >>> stop_strings(2, [b"ab", b"c"]).lengths.tolist()
    [[2, 1], [2, 1]]
    """
    content = list(strings) or [b""]
    lengths = np.array([len(string) for string in content], np.int32)
    longest = max(1, *map(len, content))
    table = np.array([list(string.rjust(longest, b"\0")) for string in content], np.int32)
    # Views: copies for thousands of texts, of 64 long strings each, would not fit in memory.
    return StopStrings(np.broadcast_to(table, (rows, *table.shape)), np.broadcast_to(lengths, (rows, *lengths.shape)))


def empty_tail(stops: StopStrings) -> Tensor:
    """Return the bytes before the first new token, none: int32 (B, M - 1)."""
    return ops.full_like(stops.strings[:, 0, 1:], NO_BYTE)


def find_stop(tail: Tensor, new: Tensor, stops: StopStrings) -> tuple[Tensor, Tensor]:
    """Look for stop strings that end in the newest token.

    Args:
        tail: int32 (B, M - 1), the bytes before the new token, as many as a stop string could begin in.
        new: int32 (B, W), the bytes of the new token, filled with `NO_BYTE`.
        stops: The strings.

    Returns:
        The new tail, and int32 (B,): where the first stop string begins, in bytes from the new token's first one
        (negative: in the tail); `NOWHERE` for none.
    """
    count = ops.sum(ops.cast(new != NO_BYTE, "int32"), axis=1, keepdims=True)
    if not needs_static_shapes():
        new = new[:, : ops.maximum(ops.max(count), 1)]
    window = ops.concatenate([tail, new], axis=1)  # (B, M - 1 + W)
    most = ops.shape(stops.strings)[2]
    ends, bytes_in = ops.arange(ops.shape(new)[1], dtype="int32"), ops.arange(most, dtype="int32")
    frames = ops.take(window, ends[:, None] + bytes_in, axis=1)  # (B, W, M), the bytes up to each new one
    same = ops.expand_dims(frames, 1) == ops.expand_dims(stops.strings, 2)  # (B, n, W, M)
    lengths = ops.expand_dims(stops.lengths, 2)
    before = bytes_in < most - ops.expand_dims(lengths, 3)
    found = ops.logical_and(ops.all(ops.logical_or(same, before), axis=-1), lengths > 0)  # (B, n, W)
    first = ops.min(ops.where(found, ends + 1 - lengths, NOWHERE), axis=(1, 2))  # (B,)
    return take_at(window, count + ops.arange(most - 1, dtype="int32")), first
