"""Checks of the inputs of an attention call against each other."""

from __future__ import annotations

from typing import Any

from keras_transformers.layers.attention.cache import check_cache
from keras_transformers.layers.attention.distance_scores import check_distances
from keras_transformers.layers.interface.input_checks import check_integers, check_rows, check_vectors
from keras_transformers.layers.positions.rotary import check_rotary


def check_call(
    attention: Any, hidden_states: Any, context: Any, documents: Any, rotary: Any, relative_positions: Any,
    cache: Any, cache_positions: Any,
) -> None:  # fmt: skip
    """Check the inputs of an `Attention` against each other.

    Args:
        attention: The layer, with its `reach` and its `part_shape`.
        hidden_states, context, documents, rotary, relative_positions, cache, cache_positions: Arguments of the call.

    Raises:
        ValueError: One has another shape or dtype, or two of them exclude each other.

    Example:

    >>> from keras_transformers.layers import Attention
    >>> check_call(Attention(2), np.ones((1, 3, 8)), *6 * [None])
    """
    check_vectors(hidden_states=hidden_states, context=context)
    check_integers(documents=documents)
    check_rows(hidden_states, context)
    is_given, has_reach = documents is not None, attention.reach != (None, None)
    if (is_given and cache is not None) or (context is not None and (is_given or has_reach)):
        raise ValueError(
            f"documents need self-attention without a cache, and reach needs self-attention: received a "
            f"{'context' if cache is None else 'cache'} with reach={attention.reach} and "
            f"{'documents' if is_given else 'no documents'}. Say in attention_mask which keys may be seen."
        )
    batch, length, _ = hidden_states.shape
    part_shape = attention.part_shape(hidden_states.shape)  # (B, K, None, H)
    if rotary is not None:
        check_rotary(rotary, length, part_shape[-1], context)
    if relative_positions is not None:
        check_distances(relative_positions, attention, length, is_self=context is None and cache is None)
    check_cache(cache, dict.fromkeys(("key", "value"), part_shape), cache_positions, (batch, length), writes=False)
