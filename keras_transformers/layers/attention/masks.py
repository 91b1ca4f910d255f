"""Attention masks (boolean, True = may attend, shape (B, 1|T, S)) and masks of choices."""

from __future__ import annotations

from keras import ops

from keras_transformers.utils.tensor_types import Tensor

NEVER = -1e9  # the score of an excluded choice; finite, so that a row without any choice has no NaN


def padding_mask(mask: Tensor) -> Tensor:
    """Return the attention mask that hides padding keys.

    Args:
        mask: (B, S), non-zero where a token is real.

    Returns:
        Boolean (B, 1, S).

    Example:

    >>> padding_mask([[1, 1, 0]]).shape.as_list()
    [1, 1, 3]
    """
    return ops.expand_dims(ops.cast(mask, "bool"), 1)  # (B, 1, S)


def causal_mask(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """Return the attention mask that hides later tokens.

    Args:
        query_positions: Integer positions (1|B, T).
        key_positions: Integer positions (1|B, S).

    Returns:
        Boolean (1|B, T, S), True where the key is not later than the query.

    Example:

    >>> causal_mask([[0, 1]], [[0, 1]]).numpy().astype(int).tolist()
    [[[1, 0], [1, 1]]]
    """
    return ops.expand_dims(query_positions, 2) >= ops.expand_dims(key_positions, 1)  # (1|B, T, S)


def window_mask(query_positions: Tensor, key_positions: Tensor, max_distance: int) -> Tensor:
    """Return the attention mask that hides tokens outside a symmetric window.

    Paper: Beltagy et al. 2020, https://arxiv.org/abs/2004.05150.

    Args:
        query_positions: Integer positions (1|B, T).
        key_positions: Integer positions (1|B, S).
        max_distance: The largest visible distance; 0 for the token itself only. It is half an encoder's window, and one
            less than a decoder's, whose causal mask hides later tokens.

    Returns:
        Boolean (1|B, T, S).

    Example:

    >>> window_mask(np.arange(4)[None], np.arange(4)[None], max_distance=1).numpy().astype(int).tolist()
    [[[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]]
    """
    return asymmetric_window_mask(query_positions, key_positions, max_distance, max_distance)


def asymmetric_window_mask(
    query_positions: Tensor, key_positions: Tensor, before: int | None = None, after: int | None = None
) -> Tensor:
    """Return the attention mask that hides tokens outside a window with different sizes before and after the query.

    Args:
        query_positions: Integer positions (1|B, T).
        key_positions: Integer positions (1|B, S).
        before: The largest distance to a visible earlier token; None for no limit.
        after: The same for later tokens.

    Returns:
        Boolean (1|B, T, S), or None if nothing is hidden.

    Example:

    >>> asymmetric_window_mask(np.arange(4)[None], np.arange(4)[None], before=1, after=0).numpy().astype(int).tolist()
    [[[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]]
    """
    distances = ops.expand_dims(query_positions, 2) - ops.expand_dims(key_positions, 1)  # (1|B, T, S)
    return combine(None if before is None else distances <= before, None if after is None else distances >= -after)


def cached_mask(cache_positions: Tensor | None, length: Tensor | int, key: Tensor, window: tuple) -> Tensor:
    """Return the attention mask of queries with a cache, or with keys of another text.

    Args:
        cache_positions: Integer positions of the queries (1|B, T), or None for 0, 1, 2, ...
        length: T.
        key: (B, K, S, H), of which S counts.
        window: As in `Attention`.

    Returns:
        Boolean (1|B, T, S), or None if nothing is hidden.

    Example:

    >>> cached_mask(None, 2, np.ones((1, 1, 3, 4)), (None, 0)).numpy().astype(int).tolist()
    [[[1, 0, 0], [1, 1, 0]]]
    """
    queries = ops.arange(length, dtype="int32")[None] if cache_positions is None else cache_positions  # (1|B, T)
    keys = ops.arange(ops.shape(key)[2], dtype="int32")[None]  # (1, S)
    return asymmetric_window_mask(ops.cast(queries, "int32"), keys, *window)


def combine(*masks: Tensor) -> Tensor:
    """Return the conjunction of attention masks; None means no restriction.

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


def document_mask(documents: Tensor, key_documents: Tensor | None = None) -> Tensor:
    """Return the attention mask that hides padding and the other texts in a row.

    Args:
        documents: Integer (B, T): which text of the row each query belongs to, from 1; 0 for padding.
        key_documents: Integer (B, S), the same of the keys; `documents` when None.

    Returns:
        Boolean (B, T, S).

    Example:

    >>> document_mask(np.array([[1, 2, 0]])).numpy().astype(int).tolist()
    [[[1, 0, 0], [0, 1, 0], [0, 0, 0]]]
    """
    key_documents = documents if key_documents is None else key_documents
    same_document = ops.equal(ops.expand_dims(documents, 2), ops.expand_dims(key_documents, 1))  # (B, T, S)
    real_keys = ops.expand_dims(ops.not_equal(key_documents, 0), 1)  # (B, 1, S)
    return ops.logical_and(same_document, real_keys)


def true_first(flags: Tensor) -> Tensor:
    """Return column numbers, first the columns of True, then the columns of False, each in order.

    Args:
        flags: (B, T) bool.

    Returns:
        (B, T) int32.

    Example:

    >>> ops.convert_to_numpy(true_first(np.array([[False, True, False, True]]))).tolist()
    [[1, 3, 0, 2]]
    """
    width = ops.shape(flags)[1]
    columns = ops.arange(width, dtype="int32")  # (T,)
    return ops.argsort(ops.where(flags, columns, columns + width), axis=1)
