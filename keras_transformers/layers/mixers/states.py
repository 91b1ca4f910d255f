"""Mixers whose cache is a state of fixed size: the inputs of their calls, checked and completed."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_transformers.layers.attention.cache import check_cache
from keras_transformers.layers.attention.given_masks import key_mask
from keras_transformers.layers.core.dense import length_of
from keras_transformers.layers.interface.carried_masks import carried
from keras_transformers.layers.interface.input_checks import check_vectors
from keras_transformers.utils.tensor_types import Tensor


def real_tokens(
    mixer: Any, hidden_states: Tensor, padding_mask: Any, cache: Any, cache_positions: Any, mask: Any
) -> tuple[Tensor | None, Tensor | None]:
    """Check the inputs of a mixer with a state; return which tokens are real, and the length of each row.

    Args:
        mixer: A layer with `part_shapes`.
        hidden_states, padding_mask, cache, cache_positions, mask: Arguments of its call.

    Returns:
        Boolean (B, T), and int32 (B,), the tokens up to the last real one. None for both if all tokens are real.

    Raises:
        ValueError: An input has another shape.
    """
    check_vectors(hidden_states=hidden_states)
    shapes = {
        name: (hidden_states.shape[0], *shape[1:]) for name, shape in mixer.part_shapes(hidden_states.shape[-1]).items()
    }
    check_cache(cache, shapes, cache_positions, tuple(hidden_states.shape[:2]))
    if padding_mask is None and cache is None:
        padding_mask = carried(mixer, hidden_states, mask)
    real = key_mask(hidden_states, None, padding_mask)  # (B, 1, T)
    if real is None:
        return None, None
    real = real[:, 0]  # (B, T)
    numbers = ops.arange(1, length_of(hidden_states) + 1, dtype="int32")  # (T,)
    return real, ops.max(ops.where(real, numbers, 0), axis=1)


def only_real(x: Tensor, real: Tensor | None) -> Tensor:
    """Return (B, T, D) with zeros in place of padding.

    Args:
        x: (B, T, D).
        real: Boolean (B, T), or None if all tokens are real.

    Example:

    >>> only_real(np.ones((1, 2, 1)), np.array([[True, False]])).numpy().ravel().tolist()
    [1.0, 0.0]
    """
    return x if real is None else ops.where(ops.expand_dims(real, -1), x, 0)
