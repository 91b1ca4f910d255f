"""Checks of the inputs of an attention call against each other."""

from __future__ import annotations

import numbers
from typing import Any

from keras_transformers.config.rotary_scaling import rotary_width
from keras_transformers.layers.attention.cache import check_cache
from keras_transformers.layers.attention.distance_scores import check_distances
from keras_transformers.layers.attention.scores import ALL_KEYS
from keras_transformers.layers.interface.input_checks import check_integers, check_rows, check_vectors, format_shape
from keras_transformers.layers.positions.rotary import check_rotary
from keras_transformers.utils.number_checks import is_number
from keras_transformers.utils.tensor_types import may_be_equal


def check_call(
    attention: Any, hidden_states: Any, context: Any, key: Any, documents: Any, rotary: Any, relative_positions: Any,
    cache: Any, cache_positions: Any,
) -> None:  # fmt: skip
    """Check the inputs of an `Attention` against each other.

    Args:
        attention: The layer, with its `window` and its `part_shapes`.
        hidden_states, context, key, documents, rotary, relative_positions, cache, cache_positions: Arguments of the
            call.

    Raises:
        ValueError: One has another shape or dtype, or two of them exclude each other.

    Example:

    >>> from keras_transformers.layers import Attention
    >>> check_call(Attention(2), np.ones((1, 3, 8)), *7 * [None])
    """
    check_vectors(hidden_states=hidden_states, context=context, key=key)
    check_key(key, context)
    check_integers(documents=documents)
    check_rows(hidden_states, context)
    is_given, has_window = documents is not None, attention.window != ALL_KEYS
    if (is_given and cache is not None) or (context is not None and (is_given or has_window)):
        raise ValueError(
            f"documents need self-attention without a cache, and a window needs self-attention: received a "
            f"{'context' if cache is None else 'cache'} with window={attention.window} and "
            f"{'documents' if is_given else 'no documents'}. Say in attention_mask which keys may be seen."
        )
    batch, length, _ = hidden_states.shape
    shapes = {name: (batch, *shape[1:]) for name, shape in attention.part_shapes(hidden_states.shape[-1]).items()}
    if rotary is not None:
        check_rotary(rotary, length, rotary_width(shapes["key"][-1], attention.partial_rotary_factor), context)
    if relative_positions is not None:
        check_distances(relative_positions, attention, length, is_self=context is None and cache is None)
    check_cache(cache, shapes, cache_positions, (batch, length), writes=False)


def check_key(key: Any, context: Any) -> None:
    """Check that a separate source of keys goes with a context of as many rows and tokens.

    Example:

    >>> check_key(np.ones((1, 5, 4)), np.ones((1, 5, 8)))
    """
    if key is None:
        return
    if context is None or not may_be_equal(tuple(key.shape[:2]), tuple(context.shape[:2])):
        received = "no context" if context is None else format_shape(tuple(context.shape))
        raise ValueError(
            "key, the source of the keys, needs a context, the source of the values, of the same batch and length: "
            f"received key {format_shape(tuple(key.shape))} and {received}."
        )


def checked_window(window: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    """Check the `window` of an `Attention` and return it as a tuple.

    Raises:
        ValueError: It is no pair of numbers from 0 on, or None.

    Example:

    >>> checked_window([None, 0])
    (None, 0)
    """
    if not isinstance(window, (tuple, list)) or len(window) != 2 or not all(map(_is_distance, window)):
        raise ValueError(
            "window must be two numbers of tokens, before and after a query, each from 0 on or None for all: received "
            f"{window!r}."
        )
    before, after = window
    return before, after


def checked_share(share: float) -> float:
    """Check the `partial_rotary_factor` of an `Attention` and return it.

    Raises:
        ValueError: It is not in (0, 1].

    Example:

    >>> checked_share(0.25)
    0.25
    """
    if not is_number(share) or not 0 < share <= 1:
        raise ValueError(f"partial_rotary_factor must be a share in (0, 1]: received {share!r}.")
    return float(share)


def _is_distance(tokens: Any) -> bool:
    return tokens is None or (isinstance(tokens, numbers.Integral) and is_number(tokens) and int(tokens) >= 0)
