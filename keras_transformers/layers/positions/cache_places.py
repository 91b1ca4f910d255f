"""Places of tokens in the cache of a block with a window: a ring, in which new tokens replace those out of sight."""

from __future__ import annotations

import keras
from keras import ops

from keras_transformers.layers.interface.layer_options import Positional
from keras_transformers.utils.tensor_types import Tensor


@keras.saving.register_keras_serializable("keras_transformers")
class CachePlaces(Positional):
    """A layer that returns where a cache of S places holds tokens: position p is at p modulo S.

    A cache with room for all tokens is the case in which no position reaches S.

    Call arguments:
        positions: Integer (B, T), positions of new tokens.
        part: (B, K, S, H), a part of the cache. S is larger than any position; or, for a window of W tokens and
            successive positions, at least W + T - 1.

    Returns:
        int32 (B, T), the place of each new token, and int32 (B, S), the position that each place holds when they are
        written; negative where there is none.

    Example:

    >>> places, held = CachePlaces()(np.array([[4]]), np.zeros((1, 1, 3, 8)))
    >>> places.numpy().tolist(), held.numpy().tolist()
    ([[1]], [[3, 4, 2]])
    """

    def call(self, positions, part):
        positions, size = ops.cast(positions, "int32"), ops.shape(part)[2]
        return ops.mod(positions, size), held_positions(ops.max(positions, axis=1), size)

    def compute_output_spec(self, positions, part):
        shapes = (positions.shape, (positions.shape[0], part.shape[2]))
        return tuple(keras.KerasTensor(shape, dtype="int32") for shape in shapes)


def held_positions(newest: Tensor, size: Tensor | int) -> Tensor:
    """Return the position that each place of a cache holds.

    Args:
        newest: int32 (B,), the newest position in each row; -1 for none.
        size: S.

    Returns:
        int32 (B, S), negative where a place holds nothing.

    Example:

    >>> held_positions(np.array([1, 4], "int32"), 3).numpy().tolist()
    [[0, 1, -1], [3, 4, 2]]
    """
    newest = ops.expand_dims(newest, 1)  # (B, 1)
    return newest - ops.mod(newest - ops.arange(size, dtype="int32"), size)  # (B, S)
