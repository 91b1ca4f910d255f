"""One block of a decoder with a recurrent layer or a convolution where a Transformer has self-attention."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.attention import Attention
from keras_transformers.layers.cache import attend_as_queries_of_one_row
from keras_transformers.layers.dense import built_dense, without_length
from keras_transformers.layers.dropout import Dropout
from keras_transformers.layers.gather import take_at
from keras_transformers.layers.mixers import make_mixer
from keras_transformers.layers.recurrence import CELLS
from keras_transformers.layers.remat import Block, rematerialized
from keras_transformers.layers.residual import make_norm, residual


@keras.saving.register_keras_serializable("keras_transformers")
class MixerDecoderBlock(Block):
    """A recurrent layer or a convolution over the past, then cross-attention on request; with a cache for decoding.

    Beside an encoder that it does not attend to, a recurrent block begins with states made from the last real state of
    the encoder, by a dense layer. With cross-attention, all that it knows of the encoder comes through attention.
    Papers: Sutskever et al. 2014, https://arxiv.org/abs/1409.3215; the dense layer, Cho et al. 2014,
    https://arxiv.org/abs/1406.1078; attention behind the recurrent layer, Luong et al. 2015,
    https://arxiv.org/abs/1508.04025.

    Args:
        mixer, intermediate_dim, kernel_size, gated, activation, dropout, norm, norm_order, epsilon, use_bias,
            initializer_range, output_initializer_range: As in `MixerEncoderBlock`.
        encoder: `"attention"` for cross-attention, `"state"` for states to begin with, None where there is no encoder.
        num_heads, head_dim, num_kv_heads, scale, attention_dropout, return_scores: Of the cross-attention.

    Call arguments:
        hidden_states: (B, T, D).
        positions: Integer (1|B, T), of each token in its text: where it is 0, a text begins.
        encoder_hidden_states: (B, S', D); needed with an encoder and without a cache.
        encoder_attention_mask: Boolean (B, 1, S').
        cache: As the block returns it; parts whose names begin with `cross_` may have B / n rows, as in `DecoderBlock`.
        cache_positions: Integer (B, T), successive, where each token of `hidden_states` belongs.
        in_place: As in `Attention`.

    Returns:
        `(hidden_states, cache)`; with cross-attention and `return_scores` followed by its weights (B, N, T, S'). The
        cache has the parts of `Recurrence` or `Convolution`, and `cross_key` and `cross_value`: those of the
        cross-attention, or the states to begin with, (B, 1, 1, U).

    Raises:
        ValueError: The mixer is unknown, or a convolution is to begin with a state; an encoder is given to a block made
            without, or not to one made with it.

    Example:

    >>> block = MixerDecoderBlock("lstm", intermediate_dim=16)
    >>> hidden_states, cache = block(np.ones((1, 3, 8)), positions=np.arange(3)[None])
    >>> tuple(cache["value"].shape)
    (1, 1, 3, 16)
    """

    def __init__(
        self,
        mixer: str,
        intermediate_dim: int,
        encoder: str | None = None,
        num_heads: int = 1,
        head_dim: int | None = None,
        num_kv_heads: int | None = None,
        scale: float | None = None,
        attention_dropout: float = 0.0,
        return_scores: bool = False,
        kernel_size: int = 3,
        gated: bool = False,
        activation: str = "tanh",
        dropout: float = 0.0,
        norm: str = "layer",
        norm_order: str = "pre",
        epsilon: float = 1e-5,
        use_bias: bool = True,
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        _check_encoder(encoder, mixer)
        dtype, attends = self.dtype_policy.name, encoder == "attention"
        self.encoder, self.norm_order, self.intermediate_dim = encoder, norm_order, intermediate_dim
        self.use_bias, self.initializer_range = use_bias, initializer_range
        self.output_initializer_range = output_initializer_range
        shared = {"use_bias": use_bias, "initializer_range": initializer_range, "dtype": dtype}
        shared |= {"output_initializer_range": output_initializer_range}
        heads = {"num_heads": num_heads, "head_dim": head_dim, "num_kv_heads": num_kv_heads, "scale": scale, **shared}
        heads |= {"dropout": attention_dropout, "return_scores": return_scores, "linear_from": None}
        recurrent, mixing = {"carries_first": encoder == "state"}, {"activation": activation, "name": "mixer", **shared}
        self.mixer = make_mixer(mixer, intermediate_dim, recurrent, kernel_size, gated, **mixing)
        self.mixer_norm = make_norm(norm, epsilon, dtype, "mixer_norm", use_bias)
        self.cross_attention = Attention(name="cross_attention", **heads) if attends else None
        cross_norm = "cross_attention_norm"
        self.cross_attention_norm = make_norm(norm, epsilon, dtype, cross_norm, use_bias) if attends else None
        self.dropout = Dropout(dropout, dtype=dtype, name="dropout")

    def build(self, hidden_states_shape, encoder_hidden_states_shape=None):
        self.mixer.build(hidden_states_shape)
        self.mixer_norm.build(hidden_states_shape)
        self.first_states = []
        if self.cross_attention is not None:
            self.cross_attention.build(hidden_states_shape, encoder_hidden_states_shape)
            self.cross_attention_norm.build(hidden_states_shape)
        elif self.encoder:
            shape = (None, encoder_hidden_states_shape[-1])
            names = [f"first_{name}" for name in self.mixer.parts]
            self.first_states = [built_dense(self, name, self.intermediate_dim, shape) for name in names]

    @rematerialized
    def call(
        self,
        hidden_states,
        encoder_hidden_states=None,
        *,
        positions,
        encoder_attention_mask=None,
        cache=None,
        cache_positions=None,
        in_place=False,
        training=None,
    ):
        cross_cache = self._cross_cache(encoder_hidden_states, encoder_attention_mask, cache)

        def mix(x):
            own = cache and {name: cache[name] for name in self.mixer.parts}
            first = {"first": _first(cross_cache, hidden_states)} if self.encoder == "state" else {}
            writes = {"cache": own, "cache_positions": cache_positions, "in_place": in_place} if cache else {}
            return self.mixer(x, positions=positions, **first, **writes)

        def cross_attend(x):
            options = {"attention_mask": encoder_attention_mask, "training": training}
            if cache is None:
                return self.cross_attention(x, encoder_hidden_states, **options)
            return attend_as_queries_of_one_row(self.cross_attention, x, cross_cache, **options)

        add = partial(residual, dropout=partial(self.dropout, training=training), norm_order=self.norm_order)
        hidden_states, new_cache = add(hidden_states, mix, self.mixer_norm)  # (B, T, D)
        scores = []
        if self.cross_attention is not None:
            hidden_states, cross_cache, *scores = add(hidden_states, cross_attend, self.cross_attention_norm)
        return hidden_states, new_cache | _crossing(cross_cache), *scores

    def _cross_cache(self, encoder_hidden_states, encoder_attention_mask, cache) -> dict:
        """Return what comes from the encoder, by names of the cache: read from it, or the states to begin with."""
        has_source = encoder_hidden_states is not None or cache is not None
        if (self.encoder and not has_source) or (not self.encoder and encoder_hidden_states is not None):
            raise ValueError(
                f"encoder={self.encoder!r} of a block: expected encoder_hidden_states, or a cache with what comes from "
                "them, where there is an encoder, and no such states where there is none."
            )
        if cache is not None:
            return {name[len("cross_") :]: part for name, part in cache.items() if name.startswith("cross_")}
        if self.encoder != "state":
            return {}
        last = ops.sum(ops.cast(encoder_attention_mask, "int32"), axis=-1, keepdims=True) - 1  # (B, 1, 1)
        last = take_at(encoder_hidden_states, ops.maximum(last[..., 0], 0))  # (B, 1, D)
        states = [ops.tanh(dense(without_length(last))) for dense in self.first_states]  # (B, U)
        return {name: state[:, None, None] for name, state in zip(self.mixer.parts, states, strict=True)}

    def compute_output_spec(self, hidden_states, encoder_hidden_states=None, *, positions, cache=None, **inputs):
        output, new_cache = self.mixer.compute_output_spec(hidden_states, positions=positions, cache=cache)
        if self.encoder == "attention":
            cross = cache and {name: cache[f"cross_{name}"] for name in ("key", "value")}
            attended = self.cross_attention.compute_output_spec(hidden_states, encoder_hidden_states, cache=cross)
            return output, new_cache | _crossing(attended[1]), *attended[2:]
        if self.encoder is None:
            return output, new_cache
        one = (hidden_states.shape[0], 1, 1, self.intermediate_dim)
        shapes = {name: one if cache is None else cache[f"cross_{name}"].shape for name in self.mixer.parts}
        return output, new_cache | _crossing(
            {name: keras.KerasTensor(shape, dtype=self.compute_dtype) for name, shape in shapes.items()}
        )


def _check_encoder(encoder: str | None, mixer: str) -> None:
    if encoder not in ("attention", "state", None) or (encoder == "state" and mixer not in CELLS):
        raise ValueError(
            f"encoder must be 'attention', 'state' (of a recurrent mixer) or None: received {encoder!r} with "
            f"mixer={mixer!r}."
        )


def _first(cross_cache: dict, hidden_states: Any) -> dict:
    """The states to begin with, each (B, U): beams of a text share theirs."""
    rows = ops.shape(hidden_states)[0]
    return {name: ops.repeat(part[:, 0, 0], rows // ops.shape(part)[0], axis=0) for name, part in cross_cache.items()}


def _crossing(cache: dict) -> dict:
    return {f"cross_{name}": part for name, part in cache.items()}
