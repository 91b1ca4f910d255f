"""Attention masks. One convention: boolean, True = may attend, shape (B, 1|T, S)."""

from __future__ import annotations

from typing import Any

from keras import ops


def padding_mask(mask: Any) -> Any:
    """The attention mask that hides padding keys.

    Args:
        mask: (B, S), non-zero where a token is real.

    Returns:
        Boolean (B, 1, S).

    Example:

    >>> padding_mask([[1, 1, 0]]).shape.as_list()
    [1, 1, 3]
    """
    return ops.expand_dims(ops.cast(mask, "bool"), 1)


def causal_mask(query_positions: Any, key_positions: Any) -> Any:
    """The attention mask that hides later tokens.

    Args:
        query_positions: Integer positions (1|B, T).
        key_positions: Integer positions (1|B, S).

    Returns:
        Boolean (1|B, T, S), True where the key is not later than the query.

    Example:

    >>> causal_mask([[0, 1]], [[0, 1]]).numpy().astype(int).tolist()
    [[[1, 0], [1, 1]]]
    """
    return ops.expand_dims(query_positions, 2) >= ops.expand_dims(key_positions, 1)


def combine(*masks: Any) -> Any:
    """The conjunction of attention masks; None stands for no restriction.

    Args:
        *masks: Boolean (B, 1|T, S), or None.

    Returns:
        A boolean mask, or None when every mask is None.

    Example:

    >>> combine(None, padding_mask([[1, 0]])).numpy().tolist()
    [[[True, False]]]
    """
    combined = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined
