"""One block of an encoder."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras

from keras_transformers.keras_private import mask_of
from keras_transformers.layers.attention import LINEAR_FROM, Attention
from keras_transformers.layers.dropout import Dropout
from keras_transformers.layers.feed_forward import FeedForward
from keras_transformers.layers.remat import Block, rematerialized
from keras_transformers.layers.residual import make_norm, residual


@keras.saving.register_keras_serializable("keras_transformers")
class EncoderBlock(Block):
    """Self-attention, then a feed-forward layer, each with residual connection and normalisation.

    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; pre-norm: Xiong et al. 2020,
    https://arxiv.org/abs/2002.04745.

    Args:
        num_heads: Attention heads, N.
        intermediate_dim: Width of the feed-forward layer.
        head_dim, num_kv_heads, scale, attention_dropout, return_scores, linear_from, reach: As in `Attention`.
        dropout: Rate on the output of each sublayer.
        activation_dropout: Rate between the two feed-forward layers.
        activation, gated: As in `FeedForward`.
        norm: `"layer"` or `"rms"`.
        norm_order: `"post"` or `"pre"`.
        epsilon: Of the normalisations.
        use_bias: Whether dense layers have biases.
        initializer_range: As in `Attention`.
        attention_norm: Whether there is a normalisation for the self-attention.

    Call arguments:
        hidden_states: (B, T, D).
        attention_mask: Boolean (B|1, 1|T, T), True = may attend.
        padding_mask, use_causal_mask: As in `Attention`.
        documents, position_bias, rotary: As in `Attention`.

    Returns:
        Hidden states (B, T, D); with `return_scores` a pair of them and the attention weights (B, N, T, T).

    Example:

    >>> block = EncoderBlock(num_heads=2, intermediate_dim=16)
    >>> tuple(block(np.ones((1, 3, 8)), attention_mask=np.ones((1, 1, 3), bool)).shape)
    (1, 3, 8)
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_dim: int,
        head_dim: int | None = None,
        num_kv_heads: int | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation: str = "gelu",
        gated: bool = False,
        norm: str = "layer",
        norm_order: str = "post",
        epsilon: float = 1e-12,
        use_bias: bool = True,
        return_scores: bool = False,
        initializer_range: float | str | None = 0.02,
        activation_dropout: float = 0.0,
        attention_norm: bool = True,
        linear_from: int | None = LINEAR_FROM,
        reach: tuple[int | None, int | None] = (None, None),
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        dtype = self.dtype_policy.name
        self.norm_order = norm_order
        self.return_scores = return_scores
        shared = {"use_bias": use_bias, "initializer_range": initializer_range, "dtype": dtype}
        heads = {"num_heads": num_heads, "head_dim": head_dim, "num_kv_heads": num_kv_heads, "scale": scale, **shared}
        heads |= {"dropout": attention_dropout, "return_scores": return_scores, "linear_from": linear_from}
        inner = {"intermediate_dim": intermediate_dim, "activation": activation, "gated": gated, **shared}
        norms = {"norm": norm, "epsilon": epsilon, "dtype": dtype, "use_bias": use_bias}

        self.attention = Attention(name="attention", reach=reach, **heads)
        self.feed_forward = FeedForward(name="feed_forward", dropout=activation_dropout, **inner)
        self.attention_norm = make_norm(name="attention_norm", **norms) if attention_norm else None
        self.feed_forward_norm = make_norm(name="feed_forward_norm", **norms)
        self.dropout = Dropout(dropout, dtype=dtype, name="dropout")

    def build(self, hidden_states_shape):
        for layer in (self.attention, self.attention_norm, self.feed_forward, self.feed_forward_norm):
            if layer is not None:
                layer.build(hidden_states_shape)

    @rematerialized
    def call(
        self,
        hidden_states,
        *,
        attention_mask=None,
        padding_mask=None,
        use_causal_mask=False,
        documents=None,
        position_bias=None,
        rotary=None,
        training=None,
    ):
        def attend(x):
            visible = {"attention_mask": attention_mask, "padding_mask": padding_mask, "documents": documents}
            visible["use_causal_mask"] = use_causal_mask
            return self.attention(x, **visible, position_bias=position_bias, rotary=rotary, training=training)

        def feed_forward(x):
            return (self.feed_forward(x, training=training),)

        padding_mask = mask_of(hidden_states) if padding_mask is None else padding_mask
        add = partial(residual, dropout=partial(self.dropout, training=training), norm_order=self.norm_order)
        hidden_states, _, *scores = add(hidden_states, attend, self.attention_norm)  # (B, T, D)
        (hidden_states,) = add(hidden_states, feed_forward, self.feed_forward_norm)  # (B, T, D)
        return (hidden_states, *scores) if self.return_scores else hidden_states

    def compute_output_spec(self, hidden_states, **inputs):
        output = keras.KerasTensor(hidden_states.shape, dtype=self.compute_dtype)
        if not self.return_scores:
            return output
        batch, length, _ = hidden_states.shape
        scores = (batch, self.attention.num_heads, length, length)
        return output, keras.KerasTensor(scores, dtype=self.compute_dtype)
