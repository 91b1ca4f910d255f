"""Scores of attention: scaled products of queries and keys, a soft cap, biases and masks, then the softmax."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from keras_transformers.layers.attention.distance_scores import Distances, chunk_scores, distance_scores
from keras_transformers.layers.attention.masks import NEVER, asymmetric_window_mask, combine, document_mask
from keras_transformers.layers.attention.products import products
from keras_transformers.utils.tensor_types import Tensor

ALL_KEYS: tuple[int | None, int | None] = (None, None)


class Visible(NamedTuple):
    """The keys that a query may see; None for no restriction.

    Only `attention_mask` may be quadratic in the length. `documents` has a number for each token, `window` one pair.
    """

    attention_mask: Tensor | None = None  # boolean (B|1, 1|T, S)
    documents: Tensor | None = None  # integer (B, T), with S = T: the text of each token, as in `document_mask`
    window: tuple[int | None, int | None] = ALL_KEYS  # with S = T: places before and after the query

    def whole(self, length: Tensor | int | None) -> Tensor | None:
        """Return the mask of all queries, boolean (B|1, 1|T, S); only windows need the length T."""
        mask = self.attention_mask
        if self.documents is not None:
            mask = combine(mask, document_mask(self.documents))  # (B, T, S)
        if self.window != ALL_KEYS:
            places = ops.arange(length, dtype="int32")[None]  # (1, T)
            mask = combine(mask, asymmetric_window_mask(places, places, *self.window))
        return mask


class ScoreOptions(NamedTuple):
    """The options of scores, which every way to compute attention takes: at once, in chunks, fused, with a cache."""

    visible: Visible = Visible()
    position_bias: Tensor | None = None  # (B|1, N, T, S), added after the soft cap
    distances: Distances | None = None  # of T queries and S keys
    soft_cap: float | None = None  # the products x become soft_cap * tanh(x / soft_cap)

    @property
    def suits_kernels(self) -> bool:
        """Return whether fused kernels can compute such scores."""
        return self.distances is None and self.soft_cap is None


PLAIN = ScoreOptions()


def attention_weights(query: Tensor, key: Tensor, options: ScoreOptions = PLAIN, in_chunks: bool = False) -> Tensor:
    """Return the softmax of the scores of queries and keys.

    Papers: disentangled distances, He et al. 2021, https://arxiv.org/abs/2006.03654; soft caps, Gemma Team 2024,
    https://arxiv.org/abs/2408.00118.

    Args:
        query: (B, N, T, H), scaled.
        key: (B, K, S, H).
        options: The options of the scores.
        in_chunks: Whether these are few queries of many, so that distances take memory that grows with T * S only.

    Returns:
        float32 (B, N, T, S).

    Example:

    >>> attention_weights(np.zeros((1, 4, 3, 8)), np.zeros((1, 2, 2, 8)))[0, 0, 0].numpy().tolist()
    [0.5, 0.5]
    """
    length = None if options.visible.window == ALL_KEYS else ops.shape(query)[2]
    bias, mask = score_bias(query, key, options, in_chunks), options.visible.whole(length)
    scores = ops.cast(products(query, key), "float32")  # half precision would lose the tail of the softmax
    if options.soft_cap is not None:
        scores = ops.tanh(scores / options.soft_cap) * options.soft_cap  # (B, N, T, S)
    if bias is not None:
        scores = scores + ops.cast(bias, scores.dtype)
    if mask is not None:
        # Adding a large negative number would be a little faster, but keep infinite scores of hidden keys (float16).
        scores = ops.where(ops.expand_dims(mask, 1), scores, NEVER)

    # Keras warns of a softmax over a single number, with which a decoder begins.
    return ops.softmax(scores, axis=-1) if scores.shape[-1] != 1 else ops.ones_like(scores)


def score_bias(query: Tensor, key: Tensor, options: ScoreOptions, in_chunks: bool = False) -> Tensor | None:
    """Return what is added to the products of queries and keys: the position bias and the scores of distances.

    Args:
        query, key, options, in_chunks: As in `attention_weights`.

    Returns:
        (B|1, N, T, S), or None.

    Example:

    >>> score_bias(np.ones((1, 2, 3, 4)), np.ones((1, 2, 3, 4)), ScoreOptions()) is None
    True
    """
    if options.distances is None:
        return options.position_bias
    compute = chunk_scores if in_chunks else distance_scores
    bias = compute(query, key, options.distances)  # (B, N, T, S)
    return bias if options.position_bias is None else bias + ops.cast(options.position_bias, bias.dtype)


def products_gradient(query: Tensor, key: Tensor, options: ScoreOptions, upstream: Tensor) -> Tensor:
    """Return the gradient of the scaled products from the gradient of the scores.

    Args:
        query, key, options: As in `attention_weights`.
        upstream: float32 (B, N, T, S).

    Returns:
        float32 (B, N, T, S).

    Example:

    >>> x, options = np.ones((1, 1, 1, 2), "float32"), ScoreOptions(soft_cap=2.0)
    >>> gradient = products_gradient(x, x, options, np.ones((1, 1, 1, 1), "float32"))
    >>> round(float(ops.sum(gradient)), 4)  # 1 - tanh(1)^2
    0.42
    """
    if options.soft_cap is None:
        return upstream
    capped = ops.tanh(ops.cast(products(query, key), "float32") / options.soft_cap)  # (B, N, T, S)
    return upstream * (1 - ops.square(capped))
