"""One block of a decoder."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras

from keras_transformers.layers.attention.cache import attend_as_queries_of_one_row, check_cache, joined, parted
from keras_transformers.layers.blocks.rematerialization import rematerialized
from keras_transformers.layers.blocks.sublayers import NO_NORMS, SublayerBlock, build_sublayer, seeds
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.layers.interface.carried_masks import carried
from keras_transformers.layers.interface.input_checks import check_rates, check_vectors
from keras_transformers.layers.interface.old_files import ReturnsCache
from keras_transformers.layers.interface.optional_outputs import requested


@keras.saving.register_keras_serializable("keras_transformers")
class DecoderBlock(ReturnsCache, SublayerBlock):
    """Causal self-attention, cross-attention on request, then a feed-forward layer; with a cache for decoding.

    The cache is a dict of tensors: `{"key", "value"}`, with cross-attention also `{"cross_key", "cross_value"}`. A call
    with `return_cache` and no cache returns the keys and values of the whole sequence (prefill). A call with a cache
    writes the keys and values of the new tokens at `cache_positions`, attends over the whole cache, and reads the keys
    and values of the encoder from it.
    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; GPT, Radford et al. 2018.

    Args:
        num_heads: Attention heads, N.
        intermediate_dim: Width of the feed-forward layer.
        cross_attention: Whether the block attends to an encoder.
        dropout, attention_dropout, activation_dropout, activation, norm, norm_order, epsilon, use_bias, norm_bias,
            attention_norm, seed, attention_bias, feed_forward_bias, attention_class, feed_forward_class: As in
            `EncoderBlock`.
        return_cache: Whether each call returns the cache as well.
        **kwargs: As in `EncoderBlock`. Options of `Attention` go to both attentions, but `window` to the self-attention
            only.

    Attributes:
        attention_class, feed_forward_class: As in `EncoderBlock`.

    Call arguments:
        hidden_states: (B, T, D).
        context: (B, S', any width), the encoder's states; needed by a cross-attending block that is called without a
            cache.
        padding_mask: As in `Attention`, for the self-attention.
        use_causal_mask: Whether later tokens are hidden. If not, `attention_mask` must hide them.
        encoder_attention_mask: As `attention_mask`, for the cross-attention: (B, 1, S').
        encoder_padding_mask: As `padding_mask`, for the cross-attention: (B, S').
        cache: See above; each (B, K, S, H). `cross_key` and `cross_value` may have B / n rows, one for n successive
            rows of `hidden_states`: the beams of a text.
        attention_mask, documents, position_bias, rotary, cache_positions, in_place: As in `Attention`, for the
            self-attention.
        return_attention_scores, return_cache: As in `Attention`.
        mask: (B, T), Keras' mask of `hidden_states`: the `padding_mask` if no mask is given.

    Returns:
        Hidden states (B, T, D). If more is asked for, a tuple: the hidden states; the cache; the weights of the
        self-attention (B, N, T, S) and, with cross-attention, its weights (B, N, T, S').

    Raises:
        ValueError: A block with cross-attention gets neither a cache nor a context; or as in `Attention`.

    Example:

    >>> block = DecoderBlock(num_heads=2, intermediate_dim=16)
    >>> block(np.ones((1, 3, 8))).shape.as_list()
    [1, 3, 8]
    >>> hidden_states, cache = block(np.ones((1, 3, 8)), return_cache=True)
    >>> cache["key"].shape.as_list()
    [1, 2, 3, 4]
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_dim: int,
        cross_attention: bool = False,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        activation: Any = "gelu",
        norm: str = "layer",
        norm_order: str = "pre",
        epsilon: float = 1e-5,
        use_bias: bool = True,
        norm_bias: bool | None = None,
        attention_norm: bool = True,
        return_cache: bool = False,
        seed: int | None = None,
        attention_bias: bool | None = None,
        feed_forward_bias: bool | None = None,
        **kwargs: Any,
    ):
        heads, inner, others = self.shares(kwargs)
        super().__init__(norm_order=norm_order, **others)
        check_rates(dropout=dropout, attention_dropout=attention_dropout, activation_dropout=activation_dropout)
        heads |= {"num_heads": num_heads, "dropout": attention_dropout, "use_bias": attention_bias}
        inner |= {"activation": activation, "use_bias": feed_forward_bias}
        make = self.complete(heads, inner, use_bias, norm, norm_bias, epsilon)
        of_block, of_heads, of_inner, of_cross = seeds(seed, 4)
        self.attention = self.attention_class(name="attention", seed=of_heads, **heads)
        self.attention_norm, self.attention_output_norm = make("attention") if attention_norm else NO_NORMS
        heads.pop("window", None)
        self.cross_attention: Any = None
        if cross_attention:
            self.cross_attention = self.attention_class(name="cross_attention", seed=of_cross, **heads)
        crossed = make("cross_attention") if cross_attention else NO_NORMS
        self.cross_attention_norm, self.cross_attention_output_norm = crossed
        self.feed_forward = self.make_feed_forward(intermediate_dim, activation_dropout, seed=of_inner, **inner)
        self.feed_forward_norm, self.feed_forward_output_norm = make("feed_forward")
        self.dropout = Dropout(dropout, seed=of_block, dtype=self.dtype_policy.name, name="dropout")
        self.return_scores, self.return_cache = self.attention.return_scores, return_cache

    def build(self, hidden_states_shape, context_shape=None):
        self.expect_width(hidden_states_shape)
        attention = self.attention, self.attention_norm, self.attention_output_norm
        for layer in (*attention, self.feed_forward, self.feed_forward_norm, self.feed_forward_output_norm):
            build_sublayer(layer, hidden_states_shape)
        if self.cross_attention is not None:
            self.cross_attention.build(hidden_states_shape, context_shape)
            for layer in (self.cross_attention_norm, self.cross_attention_output_norm):
                build_sublayer(layer, hidden_states_shape)

    @rematerialized
    def call(
        self, hidden_states, context=None, *, attention_mask=None, padding_mask=None, use_causal_mask=True,
        encoder_attention_mask=None, encoder_padding_mask=None, documents=None, position_bias=None, rotary=None,
        cache=None, cache_positions=None, in_place=False, return_attention_scores=None, return_cache=None, mask=None,
        training=None,
    ):  # fmt: skip
        self._check(hidden_states, context, cache, cache_positions)
        wanted = requested(self, cache, return_cache, return_attention_scores)
        asks = {"return_cache": True, "return_attention_scores": wanted.scores, "training": training}
        if padding_mask is None and cache is None:
            padding_mask = carried(self, hidden_states, mask)
        if encoder_padding_mask is None and cache is None and context is not None:
            encoder_padding_mask = carried(self, context, None, "context", "encoder_padding_mask")
        visible = {"attention_mask": attention_mask, "padding_mask": padding_mask, "documents": documents}
        visible |= {"use_causal_mask": use_causal_mask, "position_bias": position_bias, "rotary": rotary}
        own: Any = None
        of_context: Any = None
        if cache is not None:
            own, of_context = parted(cache)
        writes = {"cache": own, "cache_positions": cache_positions, "in_place": in_place}
        of_encoder = {"attention_mask": encoder_attention_mask, "padding_mask": encoder_padding_mask}

        def cross_attend(x):
            if cache is None:
                return self.cross_attention(x, context, **of_encoder, **asks)
            return attend_as_queries_of_one_row(self.cross_attention, x, of_context, **of_encoder, **asks)

        source = hidden_states if self.parallel else None
        attend, add = partial(self.attention, **visible, **writes, **asks), self.adder(training)
        hidden_states, new, *scores = add(
            hidden_states, attend, self.attention_norm, output_norm=self.attention_output_norm
        )  # (B, T, D)
        if self.cross_attention is not None:
            norms = self.cross_attention_norm, self.cross_attention_output_norm
            hidden_states, cross, *cross_scores = add(hidden_states, cross_attend, norms[0], output_norm=norms[1])
            new, scores = joined(new, cross), scores + cross_scores
        feed_forward = partial(self.feed_forward, training=training)
        norms = self.feed_forward_norm, self.feed_forward_output_norm
        hidden_states, *_ = add(hidden_states, feed_forward, norms[0], output_norm=norms[1], source=source)  # (B, T, D)
        return wanted.outputs(hidden_states, new, scores)

    def _check(self, hidden_states, context, cache, cache_positions):
        check_vectors(hidden_states=hidden_states, context=context)
        if self.cross_attention is None and context is not None:
            raise ValueError(
                "a context was given to a block made with cross_attention=False. The second input of a DecoderBlock is "
                "the encoder's states; masks are given by name."
            )
        if self.cross_attention is not None and context is None and cache is None:
            raise ValueError(
                "a cross-attending block needs a context, the encoder's states: block(hidden_states, context); or a "
                "cache that holds cross_key and cross_value."
            )
        batch, _, width = hidden_states.shape
        of_context = self.attention.part_shapes(width)
        sizes = {name: (batch, *shape[1:]) for name, shape in of_context.items()}
        if self.cross_attention is not None:
            sizes = joined(sizes, of_context)
        check_cache(cache, sizes, cache_positions, hidden_states.shape[:2])

    def compute_output_spec(
        self, hidden_states, context=None, *, encoder_attention_mask=None, encoder_padding_mask=None, cache=None,
        return_attention_scores=None, return_cache=None, training=None, **kwargs
    ):  # fmt: skip
        self._check(hidden_states, context, cache, kwargs.get("cache_positions"))
        asks = {"return_cache": True, "return_attention_scores": True}
        own: Any = None
        of_context: Any = None
        if cache is not None:
            own, of_context = parted(cache)
        output, new, scores = self.attention.compute_output_spec(hidden_states, cache=own, **asks, **kwargs)
        scores = [scores]
        if self.cross_attention is not None:
            source = {"attention_mask": encoder_attention_mask, "padding_mask": encoder_padding_mask}
            if cache is not None:
                source = {"cache": of_context}  # perhaps of fewer rows
            _, cross, weights = self.cross_attention.compute_output_spec(hidden_states, context, **source, **asks)
            new, scores = joined(new, cross), [*scores, weights]
        return requested(self, cache, return_cache, return_attention_scores).outputs(output, new, scores)
