"""One block of a decoder."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras

from keras_transformers.keras_private import mask_of
from keras_transformers.layers.attention import LINEAR_FROM, Attention
from keras_transformers.layers.cache import attend_as_queries_of_one_row
from keras_transformers.layers.dropout import Dropout
from keras_transformers.layers.feed_forward import FeedForward
from keras_transformers.layers.remat import Block, rematerialized
from keras_transformers.layers.residual import make_norm, residual


@keras.saving.register_keras_serializable("keras_transformers")
class DecoderBlock(Block):
    """Masked self-attention, cross-attention on request, then a feed-forward layer; with a cache for decoding.

    The cache is plain tensors, in and out: `{"key", "value"}`, with cross-attention `{"cross_key", "cross_value"}` as
    well. Called without a cache, the block returns the keys and values of the whole sequence (prefill). Called with
    one, it writes those of the new tokens at `cache_positions` and attends over the whole cache; the keys and values of
    the encoder are then read from the cache.
    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; GPT, Radford et al. 2018.

    Args:
        num_heads: Attention heads, N.
        intermediate_dim: Width of the feed-forward layer.
        cross_attention: Whether the block attends to an encoder.
        head_dim, num_kv_heads, scale, attention_dropout, return_scores, linear_from, reach: As in `Attention`.
        dropout, activation_dropout, activation, gated, norm, norm_order, epsilon, use_bias, initializer_range: As in
            `EncoderBlock`.
        output_initializer_range: As in `Attention`, for the feed-forward layer too.
        attention_norm: As in `EncoderBlock`.

    Call arguments:
        hidden_states: (B, T, D).
        encoder_hidden_states: (B, S', D); needed by a cross-attending block that is called without a cache.
        attention_mask: Boolean (B|1, 1|T, S), True = may attend. The caller makes it causal (`causal_mask`), once
            for all blocks; or asks for it by `use_causal_mask`.
        encoder_attention_mask: Boolean (B, 1, S').
        padding_mask, use_causal_mask: As in `Attention`, for the self-attention.
        encoder_padding_mask: (B, S'), as `padding_mask`, for the cross-attention.
        documents, position_bias, rotary: As in `Attention`, for the self-attention.
        cache: See above; each (B, K, S, H). `cross_key` and `cross_value` may have B / n rows, one for n successive
            rows of `hidden_states`: the beams of a text.
        cache_positions: Integer (B, T), where each token of `hidden_states` belongs.
        in_place: As in `Attention`.

    Returns:
        `(hidden_states, cache)`; with `return_scores` followed by the weights of the self-attention (B, N, T, S) and,
        where there is one, of the cross-attention (B, N, T, S').

    Raises:
        ValueError: A cross-attending block gets neither a cache nor `encoder_hidden_states`.

    Example:

    >>> from keras_transformers.layers import causal_mask
    >>> block, positions = DecoderBlock(num_heads=2, intermediate_dim=16), np.arange(3)[None]
    >>> hidden_states, cache = block(np.ones((1, 3, 8)), attention_mask=causal_mask(positions, positions))
    >>> tuple(cache["key"].shape)
    (1, 2, 3, 4)
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_dim: int,
        cross_attention: bool = False,
        head_dim: int | None = None,
        num_kv_heads: int | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation: str = "gelu",
        gated: bool = False,
        norm: str = "layer",
        norm_order: str = "pre",
        epsilon: float = 1e-5,
        use_bias: bool = True,
        return_scores: bool = False,
        initializer_range: float | str | None = 0.02,
        output_initializer_range: float | None = None,
        activation_dropout: float = 0.0,
        attention_norm: bool = True,
        linear_from: int | None = LINEAR_FROM,
        reach: tuple[int | None, int | None] = (None, None),
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.norm_order, self.return_scores = norm_order, return_scores
        shared = {"use_bias": use_bias, "initializer_range": initializer_range, "dtype": self.dtype_policy.name}
        shared |= {"output_initializer_range": output_initializer_range}
        heads = {"num_heads": num_heads, "head_dim": head_dim, "num_kv_heads": num_kv_heads, "scale": scale, **shared}
        heads |= {"dropout": attention_dropout, "return_scores": return_scores, "linear_from": linear_from}
        inner = {"intermediate_dim": intermediate_dim, "activation": activation, "gated": gated, **shared}
        norms = {"norm": norm, "epsilon": epsilon, "dtype": shared["dtype"], "use_bias": use_bias}
        self.attention = Attention(name="attention", reach=reach, **heads)
        self.attention_norm = make_norm(name="attention_norm", **norms) if attention_norm else None
        self.cross_attention = Attention(name="cross_attention", **heads) if cross_attention else None
        self.cross_attention_norm = make_norm(name="cross_attention_norm", **norms) if cross_attention else None
        self.feed_forward = FeedForward(name="feed_forward", dropout=activation_dropout, **inner)
        self.feed_forward_norm = make_norm(name="feed_forward_norm", **norms)
        self.dropout = Dropout(dropout, dtype=shared["dtype"], name="dropout")

    def build(self, hidden_states_shape, encoder_hidden_states_shape=None):
        for layer in (self.attention, self.attention_norm, self.feed_forward, self.feed_forward_norm):
            if layer is not None:
                layer.build(hidden_states_shape)
        if self.cross_attention is not None:
            self.cross_attention.build(hidden_states_shape, encoder_hidden_states_shape)
            self.cross_attention_norm.build(hidden_states_shape)

    @rematerialized
    def call(
        self,
        hidden_states,
        encoder_hidden_states=None,
        *,
        attention_mask=None,
        encoder_attention_mask=None,
        padding_mask=None,
        encoder_padding_mask=None,
        use_causal_mask=False,
        documents=None,
        position_bias=None,
        rotary=None,
        cache=None,
        cache_positions=None,
        in_place=False,
        training=None,
    ):
        def attend(x):
            positions = {"position_bias": position_bias, "rotary": rotary, "cache_positions": cache_positions}
            options = {"attention_mask": attention_mask, "documents": documents, "in_place": in_place}
            options |= {"padding_mask": padding_mask, "use_causal_mask": use_causal_mask}
            return self.attention(x, cache=_part(cache), training=training, **positions, **options)

        def cross_attend(x):
            options = {"attention_mask": encoder_attention_mask, "training": training}
            options["padding_mask"] = encoder_padding_mask
            if cache is None:
                return self.cross_attention(x, encoder_hidden_states, **options)
            return attend_as_queries_of_one_row(self.cross_attention, x, _part(cache, "cross_"), **options)

        def feed_forward(x):
            return (self.feed_forward(x, training=training),)

        self._check(encoder_hidden_states, cache)
        if padding_mask is None and cache is None:
            padding_mask = mask_of(hidden_states)
        add = partial(residual, dropout=partial(self.dropout, training=training), norm_order=self.norm_order)
        hidden_states, new_cache, *scores = add(hidden_states, attend, self.attention_norm)  # (B, T, D)

        if self.cross_attention is not None:
            hidden_states, cross_cache, *cross_scores = add(hidden_states, cross_attend, self.cross_attention_norm)
            new_cache, scores = _with_cross(new_cache, cross_cache), scores + cross_scores

        (hidden_states,) = add(hidden_states, feed_forward, self.feed_forward_norm)  # (B, T, D)
        return hidden_states, new_cache, *scores

    def _check(self, encoder_hidden_states, cache):
        if self.cross_attention is None and encoder_hidden_states is not None:
            raise ValueError("encoder_hidden_states were given to a block made with cross_attention=False.")
        if self.cross_attention is not None and encoder_hidden_states is None and cache is None:
            raise ValueError(
                "a cross-attending block needs encoder_hidden_states, or a cache that holds cross_key and cross_value."
            )

    def compute_output_spec(self, hidden_states, encoder_hidden_states=None, *, cache=None, **inputs):
        outputs = self.attention.compute_output_spec(hidden_states, cache=_part(cache))
        if self.cross_attention is None:
            return outputs
        cross_cache = _part(cache, "cross_")
        cross = self.cross_attention.compute_output_spec(hidden_states, encoder_hidden_states, cache=cross_cache)
        return outputs[0], _with_cross(outputs[1], cross[1]), *outputs[2:], *cross[2:]


def _part(cache: dict | None, prefix: str = "") -> dict | None:
    """The cache of the self-attention, or with the prefix `"cross_"` of the cross-attention."""
    return None if cache is None else {name: cache[prefix + name] for name in ("key", "value")}


def _with_cross(cache: dict, cross: dict) -> dict:
    return cache | {"cross_key": cross["key"], "cross_value": cross["value"]}
