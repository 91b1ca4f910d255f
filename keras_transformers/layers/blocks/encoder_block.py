"""One block of an encoder."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras

from keras_transformers.layers.blocks.rematerialization import rematerialized
from keras_transformers.layers.blocks.sublayers import NO_NORMS, SublayerBlock, build_sublayer, seeds
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.layers.interface.carried_masks import carried
from keras_transformers.layers.interface.input_checks import check_rates, check_vectors
from keras_transformers.layers.interface.optional_outputs import requested


@keras.saving.register_keras_serializable("keras_transformers")
class EncoderBlock(SublayerBlock):
    """Self-attention, then a feed-forward layer, each with residual connection and normalisation.

    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; pre-norm: Xiong et al. 2020,
    https://arxiv.org/abs/2002.04745.

    Args:
        num_heads: Attention heads, N.
        intermediate_dim: Width of the feed-forward layer.
        dropout: Rate on the output of each sublayer.
        attention_dropout: Rate on the attention weights.
        activation_dropout: Rate between the two feed-forward layers.
        activation: As in `FeedForward`.
        norm: `"layer"`, `"rms"` or `"offset_rms"`.
        norm_order: `"post"`, `"pre"`, `"res_post"` or `"sandwich"`: see `layers.residual`.
        residual_scale: Factor of what each sublayer adds.
        parallel: Whether the feed-forward layer reads the block's input, as the attention does: `x + attention(norm(x))
            + feed_forward(norm'(x))`, of GPT-J and GPT-NeoX (Black et al. 2022, https://arxiv.org/abs/2204.06745).
            It needs `norm_order="pre"`.
        epsilon: Added to the variance in normalisations.
        use_bias: Whether dense layers have biases.
        norm_bias: Whether layer norms have biases; `use_bias` when None.
        attention_norm: Whether the self-attention has a normalisation.
        seed: Seed of all dropout in the block, an integer; None for another one at each start.
        attention_bias: Whether the dense layers of attentions have biases; `use_bias` when None.
        feed_forward_bias: Whether the dense layers of the feed-forward layer have biases; `use_bias` when None.
        attention_class: A subclass of `Attention`, or the name it is registered by
            (`keras.saving.register_keras_serializable`); `Attention` when None.
        feed_forward_class: A layer (B, T, D) to (B, T, D) in place of `FeedForward`, a class or its registered name. It
            gets the options among `intermediate_dim`, `activation`, `dropout`, `use_bias` and `seed` that its
            constructor takes.
        **kwargs: Options of `Attention` (`head_dim`, `num_kv_heads`, `scale`, `return_scores`, `linear_from`,
            `window`, ...), of `FeedForward` (`gated`, ...), of both (`initializer_range`, `kernel_initializer`,
            `kernel_regularizer`, ...), of `attention_class` and `feed_forward_class`, and of every Keras layer.

    Attributes:
        attention_class, feed_forward_class: The classes; a subclass of the block may choose others.

    Call arguments:
        hidden_states: (B, T, D).
        padding_mask, attention_mask, use_causal_mask, documents, position_bias, rotary, relative_positions,
            return_attention_scores: As in `Attention`; the masks by position, too. The table of `relative_positions`
            has the dropout of a sublayer's output.
        mask: (B, T), Keras' mask of `hidden_states`: the `padding_mask` if no mask is given.

    Returns:
        Hidden states (B, T, D); with `return_attention_scores`, or if the block has `return_scores`, a pair of them and
        the attention weights (B, N, T, T).

    Raises:
        ValueError: As in `Attention`; or the first two arguments look like keras_hub's, (intermediate_dim, num_heads).

    Example:

    >>> block = EncoderBlock(num_heads=2, intermediate_dim=16, num_kv_heads=1, gated=True)
    >>> tuple(block(np.ones((1, 3, 8)), padding_mask=np.array([[1, 1, 0]])).shape)
    (1, 3, 8)
    """

    return_cache = False

    def __init__(
        self,
        num_heads: int,
        intermediate_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        activation: Any = "gelu",
        norm: str = "layer",
        norm_order: str = "post",
        epsilon: float = 1e-12,
        use_bias: bool = True,
        norm_bias: bool | None = None,
        attention_norm: bool = True,
        seed: int | None = None,
        attention_bias: bool | None = None,
        feed_forward_bias: bool | None = None,
        **kwargs: Any,
    ):
        heads, inner, others = self.shares(kwargs)
        if heads.get("return_cache"):
            raise ValueError("an EncoderBlock has no cache: received return_cache=True. A DecoderBlock has one.")
        super().__init__(norm_order=norm_order, **others)
        check_rates(dropout=dropout, attention_dropout=attention_dropout, activation_dropout=activation_dropout)
        heads |= {"num_heads": num_heads, "dropout": attention_dropout, "use_bias": attention_bias}
        inner |= {"activation": activation, "use_bias": feed_forward_bias}
        make = self.complete(heads, inner, use_bias, norm, norm_bias, epsilon)
        of_block, of_heads, of_inner = seeds(seed, 3)
        self.attention = self.attention_class(name="attention", seed=of_heads, **heads)
        self.feed_forward = self.make_feed_forward(intermediate_dim, activation_dropout, seed=of_inner, **inner)
        self.attention_norm, self.attention_output_norm = make("attention") if attention_norm else NO_NORMS
        self.feed_forward_norm, self.feed_forward_output_norm = make("feed_forward")
        self.dropout = Dropout(dropout, seed=of_block, dtype=self.dtype_policy.name, name="dropout")
        self.return_scores = self.attention.return_scores

    def build(self, hidden_states_shape):
        self.expect_width(hidden_states_shape)
        attention = self.attention, self.attention_norm, self.attention_output_norm
        for layer in (*attention, self.feed_forward, self.feed_forward_norm, self.feed_forward_output_norm):
            build_sublayer(layer, hidden_states_shape)

    @rematerialized
    def call(
        self,
        hidden_states,
        padding_mask=None,
        attention_mask=None,
        *,
        use_causal_mask=False,
        documents=None,
        position_bias=None,
        rotary=None,
        relative_positions=None,
        return_attention_scores=None,
        mask=None,
        training=None,
    ):
        check_vectors(hidden_states=hidden_states)
        wanted = requested(self, return_attention_scores=return_attention_scores)
        padding_mask = carried(self, hidden_states, mask) if padding_mask is None else padding_mask
        visible = {"attention_mask": attention_mask, "padding_mask": padding_mask, "documents": documents}
        visible |= {"use_causal_mask": use_causal_mask, "position_bias": position_bias, "rotary": rotary}
        asks = {"return_attention_scores": wanted.scores, "return_cache": False, "training": training}
        if relative_positions is not None:
            table, rows = relative_positions
            visible["relative_positions"] = self.dropout(table, training=training), rows
        source = hidden_states if self.parallel else None
        attend, add = partial(self.attention, **visible, **asks), self.adder(training)
        hidden_states, *scores = add(hidden_states, attend, self.attention_norm, output_norm=self.attention_output_norm)
        feed_forward = partial(self.feed_forward, training=training)
        norms = self.feed_forward_norm, self.feed_forward_output_norm
        hidden_states, *_ = add(hidden_states, feed_forward, norms[0], output_norm=norms[1], source=source)  # (B, T, D)
        return wanted.outputs(hidden_states, None, scores)

    def compute_output_spec(
        self, hidden_states, padding_mask=None, attention_mask=None, *, return_attention_scores=None, **kwargs
    ):
        scores = requested(self, return_attention_scores=return_attention_scores).scores
        masks = {"padding_mask": padding_mask, "attention_mask": attention_mask}
        asks = {"return_attention_scores": scores, "return_cache": False}
        return self.attention.compute_output_spec(hidden_states, **masks, **asks, **kwargs)
