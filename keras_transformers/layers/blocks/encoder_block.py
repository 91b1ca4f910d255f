"""One block of an encoder."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras

from keras_transformers.layers.attention.attention import Attention
from keras_transformers.layers.blocks.feed_forward import FeedForward
from keras_transformers.layers.blocks.rematerialization import Block, rematerialized
from keras_transformers.layers.blocks.residual import make_norm
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.layers.interface.given_masks import carried
from keras_transformers.layers.interface.input_checks import check_rates, check_vectors
from keras_transformers.layers.interface.layer_options import share_out
from keras_transformers.layers.interface.optional_outputs import requested


@keras.saving.register_keras_serializable("keras_transformers")
class EncoderBlock(Block):
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
        norm: `"layer"` or `"rms"`.
        norm_order: `"post"` or `"pre"`.
        epsilon: Added to the variance in normalisations.
        use_bias: Whether dense layers have biases.
        norm_bias: Whether layer norms have biases; `use_bias` when None.
        attention_norm: Whether the self-attention has a normalisation.
            **kwargs: Options of `Attention` (`head_dim`, `num_kv_heads`, `scale`, `return_scores`, `linear_from`,
            `reach`, ...), of `FeedForward` (`gated`, ...), of both (`initializer_range`, `kernel_initializer`,
            `kernel_regularizer`, ...), and of every Keras layer.

    Attributes:
        attention_class: The class of the attention; a subclass of the block may choose its own.

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
        ValueError: As in `Attention`.

    Example:

    >>> block = EncoderBlock(num_heads=2, intermediate_dim=16, num_kv_heads=1, gated=True)
    >>> tuple(block(np.ones((1, 3, 8)), padding_mask=np.array([[1, 1, 0]])).shape)
    (1, 3, 8)
    """

    attention_class = Attention
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
        **kwargs: Any,
    ):
        heads, inner, others = share_out(kwargs, self.attention_class, FeedForward)
        if heads.get("return_cache"):
            raise ValueError("an EncoderBlock has no cache: received return_cache=True. A DecoderBlock has one.")
        super().__init__(norm_order=norm_order, **others)
        check_rates(dropout=dropout, attention_dropout=attention_dropout, activation_dropout=activation_dropout)
        shared: dict[str, Any] = {"use_bias": use_bias, "dtype": self.dtype_policy.name}
        norms = shared | {"use_bias": use_bias if norm_bias is None else norm_bias}
        make = partial(make_norm, norm, epsilon, **norms)
        heads |= {"num_heads": num_heads, "dropout": attention_dropout, **shared}
        inner |= {"dropout": activation_dropout, "activation": activation, **shared}
        self.attention = self.attention_class(name="attention", **heads)
        self.feed_forward = FeedForward(intermediate_dim, name="feed_forward", **inner)
        self.attention_norm = make(name="attention_norm") if attention_norm else None
        self.feed_forward_norm = make(name="feed_forward_norm")
        self.dropout = Dropout(dropout, dtype=shared["dtype"], name="dropout")
        self.return_scores = self.attention.return_scores

    def build(self, hidden_states_shape):
        self.expect_width(hidden_states_shape)
        for layer in (self.attention, self.attention_norm, self.feed_forward, self.feed_forward_norm):
            if layer is not None:
                layer.build(hidden_states_shape)

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
        padding_mask = carried(hidden_states, mask) if padding_mask is None else padding_mask
        visible = {"attention_mask": attention_mask, "padding_mask": padding_mask, "documents": documents}
        visible |= {"use_causal_mask": use_causal_mask, "position_bias": position_bias, "rotary": rotary}
        asks = {"return_attention_scores": wanted.scores, "return_cache": False, "training": training}
        if relative_positions is not None:
            table, rows = relative_positions
            visible["relative_positions"] = self.dropout(table, training=training), rows
        attend, add = partial(self.attention, **visible, **asks), self.adder(training)
        hidden_states, *scores = add(hidden_states, attend, self.attention_norm)  # (B, T, D)
        feed_forward = partial(self.feed_forward, training=training)
        hidden_states, *_ = add(hidden_states, feed_forward, self.feed_forward_norm)  # (B, T, D)
        return wanted.outputs(hidden_states, None, scores)

    def compute_output_spec(
        self, hidden_states, padding_mask=None, attention_mask=None, *, return_attention_scores=None, **kwargs
    ):
        scores = requested(self, return_attention_scores=return_attention_scores).scores
        masks = {"padding_mask": padding_mask, "attention_mask": attention_mask}
        asks = {"return_attention_scores": scores, "return_cache": False}
        return self.attention.compute_output_spec(hidden_states, **masks, **asks, **kwargs)
