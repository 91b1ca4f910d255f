"""Masks in the forms that Keras users give: checked, and converted to the one form that attention uses."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformers.layers.attention.masks import NEVER, combine
from keras_transformers.layers.interface.input_checks import as_array, check_dense, format_shape, values_of
from keras_transformers.utils.tensor_types import Tensor, may_be_equal


class Sizes(NamedTuple):
    """The sizes of an attention, None for unknown ones."""

    batch: int | None  # B
    heads: int | None  # N
    queries: int | None  # T
    keys: int | None  # S


def combined(
    attention_mask: Any, padding_mask: Any, documents: Any, position_bias: Any, sizes: Sizes
) -> tuple[Tensor | None, Tensor | None]:
    """Check the masks and the bias of an attention call, and combine them into one mask and one bias.

    Args:
        attention_mask: As in `checked_attention`, or None.
        padding_mask: As in `checked_padding`, or None.
        documents: Integer (B, T), or None.
        position_bias: (B|1, N, T, S), or None.
        sizes: Sizes of the attention.

    Returns:
        A boolean mask (B|1, 1|T, S) of both masks, or None; and a bias (B|1, N, T, S), or None.

    Raises:
        ValueError: One of them has another shape or other values.

    Example:

    >>> combined(np.ones((1, 3, 3)), np.array([[1, 1, 0]]), None, None, Sizes(1, 2, 3, 3))[0].shape.as_list()
    [1, 3, 3]
    """
    bias = None
    if documents is not None:
        check_documents(documents, sizes)
    if position_bias is not None:
        check_bias(position_bias, sizes)
    if attention_mask is not None:
        attention_mask, bias = checked_attention(attention_mask, sizes)
    if padding_mask is not None:
        attention_mask = combine(attention_mask, checked_padding(padding_mask, sizes))
    if bias is not None:
        position_bias = bias if position_bias is None else bias + ops.cast(position_bias, bias.dtype)
    return attention_mask, position_bias


def checked_padding(mask: Any, sizes: Sizes, name: str = "padding_mask") -> Tensor:
    """Check a mask of padding keys, and convert it to an attention mask.

    Args:
        mask: (B, S), Boolean or 0 and 1: 1 where a key is real.
        sizes: Sizes of the attention.
        name: Name of the argument, for errors.

    Returns:
        Boolean (B, 1, S).

    Raises:
        ValueError: It has another shape, or other numbers.

    Example:

    >>> checked_padding(np.array([[1, 1, 0]]), Sizes(1, 2, 3, 3)).shape.as_list()
    [1, 1, 3]
    """
    mask, shape = _with_shape(mask, name)
    if not _fits(shape, (sizes.batch, sizes.keys)):
        raise ValueError(
            f"{name} must be (batch, keys), {format_shape((sizes.batch, sizes.keys))} here: received "
            f"{format_shape(shape)}. A mask of queries and keys is an attention_mask."
        )
    return ops.expand_dims(_booleans(mask, name), 1)


def both(mask: Any, other: Any) -> Any:
    """Return what two masks of the same keys (B, S) let see, each perhaps None.

    Example:

    >>> both(None, [[True]])
    [[True]]
    """
    if mask is None or other is None:
        return other if mask is None else mask
    return ops.logical_and(mask, other)


def key_mask(hidden_states: Any, attention_mask: Any = None, padding_mask: Any = None) -> Tensor | None:
    """Return the mask of real tokens, for layers whose tokens have no separate keys.

    Args:
        hidden_states: (B, T, D).
        attention_mask: Boolean (B, 1, T), or None.
        padding_mask: (B, T), as in `checked_padding`, or None.

    Returns:
        Boolean (B, 1, T), or None if all tokens are real.

    Raises:
        ValueError: A mask has another shape or other values.

    Example:

    >>> key_mask(np.ones((1, 3, 8)), padding_mask=np.array([[1, 1, 0]])).shape.as_list()
    [1, 1, 3]
    """
    batch, length, _ = hidden_states.shape
    if attention_mask is not None:
        attention_mask, shape = _with_shape(attention_mask, "attention_mask")
        if not may_be_equal(shape, (batch, 1, length)):
            raise ValueError(
                f"attention_mask of tokens without keys must be (batch, 1, length), {format_shape((batch, 1, length))} "
                f"here: received {format_shape(shape)}. Pass (batch, length) as padding_mask."
            )
        attention_mask = _booleans(attention_mask)
    if padding_mask is None:
        return attention_mask
    return combine(attention_mask, checked_padding(padding_mask, Sizes(batch, None, length, length)))


def checked_attention(mask: Any, sizes: Sizes) -> tuple[Tensor | None, Tensor | None]:
    """Check a mask of queries and keys.

    Args:
        mask: Boolean or 0 and 1, 1 where a query may see a key: (T, S), (B|1, 1|T, S), (B|1, 1, 1|T, S) or, with a
            mask for each head, (B|1, N, T, S).
        sizes: Sizes of the attention.

    Returns:
        A boolean mask (B|1, 1|T, S) or None; and a bias float32 (B|1, N, T, S), which hides the keys of each head, or
        None.

    Raises:
        ValueError: It has another shape, an ambiguous shape, or other values.

    Example:

    >>> checked_attention(np.ones((3, 3), bool), Sizes(1, 2, 3, 3))[0].shape.as_list()
    [1, 3, 3]
    """
    mask, shape = _with_shape(mask, "attention_mask")
    batch, heads, queries, keys = sizes
    if len(shape) == 2:
        _check_pair(shape, sizes)
        return ops.expand_dims(_booleans(mask), 0), None  # (1, T, S)
    if len(shape) == 3 and _fits(shape, (batch, queries, keys)):
        return _booleans(mask), None
    if len(shape) == 4 and shape[1] == 1 and _fits(shape, (batch, 1, queries, keys)):
        return ops.squeeze(_booleans(mask), 1), None
    if len(shape) == 4 and shape[1] == heads and _fits(shape, (batch, heads, queries, keys)):
        return None, ops.where(_booleans(mask), 0.0, NEVER)
    raise ValueError(
        "attention_mask must be (queries, keys), (batch, queries, keys), (batch, 1, queries, keys) or (batch, heads, "
        f"queries, keys), with batch, heads, queries, keys = {format_shape(sizes)} here: received "
        f"{format_shape(shape)}."
    )


def check_documents(documents: Any, sizes: Sizes) -> None:
    """Check that `documents` is (B, T).

    Example:

    >>> check_documents(np.array([[1, 1, 2]]), Sizes(1, 2, 3, 3))
    """
    if not _fits(tuple(documents.shape), (sizes.batch, sizes.queries)):
        raise ValueError(
            f"documents must be (batch, length), {format_shape((sizes.batch, sizes.queries))} here: received "
            f"{format_shape(tuple(documents.shape))}."
        )


def check_bias(bias: Any, sizes: Sizes) -> None:
    """Check that a bias of the scores is (B|1, N, T, S).

    Example:

    >>> check_bias(np.zeros((1, 2, 3, 3)), Sizes(4, 2, 3, 3))
    """
    if not _fits(tuple(bias.shape), sizes):
        raise ValueError(
            f"position_bias must be (1 or batch, heads, queries, keys), {format_shape(sizes)} here: received "
            f"{format_shape(tuple(bias.shape))}."
        )
    dtype = keras.backend.standardize_dtype(bias.dtype)
    if not keras.backend.is_float_dtype(dtype):
        raise ValueError(
            f"position_bias is added to the scores, and must be of floating-point numbers: received {dtype}. A mask is "
            "an attention_mask."
        )


def _with_shape(mask: Any, name: str) -> tuple[Any, tuple]:
    """Convert a mask, which may be a list, to a tensor or array; return it and its shape."""
    mask = as_array(mask)
    if isinstance(mask, np.ndarray) and mask.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be Boolean, or 0 and 1: received {mask.dtype}.")
    check_dense(mask, name)
    return mask, tuple(mask.shape)


def _check_pair(shape: tuple, sizes: Sizes) -> None:
    as_padding = _fits(shape, (sizes.batch, sizes.keys))
    if as_padding or not _fits(shape, (sizes.queries, sizes.keys)):
        both = as_padding and _fits(shape, (sizes.queries, sizes.keys))
        raise ValueError(
            f"attention_mask of shape {format_shape(shape)} {'can be' if both else 'is not'} (queries, keys), "
            f"{format_shape((sizes.queries, sizes.keys))} here"
            + (", and can be (batch, keys)" if both else "")
            + ": pass a mask of padding as padding_mask, and one of queries and keys as (1, queries, keys)."
        )


def _fits(shape: tuple, expected: tuple) -> bool:
    """Return whether a shape broadcasts to another one; sizes may be unknown, and all but the last may be 1."""
    if len(shape) != len(expected):
        return False
    pairs = [*zip(shape, expected, strict=True)]
    known = [one is None or other is None or one == other for one, other in pairs]
    return known[-1] and all(fits or one == 1 for fits, (one, _) in zip(known, pairs, strict=True))


def _booleans(mask: Any, name: str = "attention_mask") -> Tensor:
    mask = mask if isinstance(mask, keras.KerasTensor) else ops.convert_to_tensor(mask)
    dtype = keras.backend.standardize_dtype(mask.dtype)
    if dtype == "bool":
        return mask
    if dtype == "string":
        raise ValueError(f"{name} must be Boolean, or 0 and 1: received {dtype}.")
    values = values_of(mask)
    if values is None and "float" in dtype:
        raise ValueError(
            f"{name} must be Boolean, or 0 and 1: received {dtype} in a graph, where a sum with the scores, of 0 and "
            f"-1e9, looks the same. Cast it: ops.cast({name}, 'bool')."
        )
    if values is not None and not ((values == 0) | (values == 1)).all():
        raise ValueError(
            f"{name} must be Boolean, or 0 and 1: received numbers from {values.min():g} to {values.max():g}. For a "
            "mask that is added to the scores, pass mask == 0."
        )
    return ops.cast(mask, "bool")
