"""A decoder block with a recurrent layer or a convolution in place of self-attention."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.attention.attention import Attention
from keras_transformers.layers.attention.cache import attend_as_queries_of_one_row, check_cache, joined, parted
from keras_transformers.layers.attention.given_masks import key_mask
from keras_transformers.layers.blocks.rematerialization import Block, rematerialized
from keras_transformers.layers.core.dense import built_dense, length_of, without_length
from keras_transformers.layers.core.dropout import Dropout, part_of_seed
from keras_transformers.layers.core.gather import take_at
from keras_transformers.layers.core.layer_norm import make_norm
from keras_transformers.layers.interface.carried_masks import carried
from keras_transformers.layers.interface.input_checks import check_rates, check_vectors
from keras_transformers.layers.interface.layer_options import DENSE_OPTIONS, share_out
from keras_transformers.layers.interface.old_files import ReturnsCache
from keras_transformers.layers.interface.optional_outputs import requested
from keras_transformers.layers.mixers.by_name import make_mixer
from keras_transformers.layers.mixers.recurrence import CELLS


@keras.saving.register_keras_serializable("keras_transformers")
class MixerDecoderBlock(ReturnsCache, Block):
    """A recurrent layer or a convolution over the past, then cross-attention on request; with a cache for decoding.

    Without cross-attention, the initial states of a recurrent block are computed by a dense layer from the last real
    state of the encoder. With cross-attention, it sees the encoder through attention only.
    Papers: Sutskever et al. 2014, https://arxiv.org/abs/1409.3215; the dense layer, Cho et al. 2014,
    https://arxiv.org/abs/1406.1078; attention behind the recurrent layer, Luong et al. 2015,
    https://arxiv.org/abs/1508.04025.

    Args:
        mixer, intermediate_dim, kernel_size, gated, activation, dropout, norm, norm_order, epsilon, use_bias,
            initializer_range, output_initializer_range: As in `MixerEncoderBlock`.
        encoder: `"attention"` for cross-attention, `"state"` for initial states, None if there is no encoder.
        num_heads: Heads of the cross-attention.
        attention_dropout: Rate on the weights of the cross-attention.
        return_cache, seed: As in `DecoderBlock`.
        **kwargs: Options of `Attention`, for the cross-attention; `kernel_initializer` and its kind for all dense
        layers.

    Call arguments:
        hidden_states: (B, T, D).
        context: (B, S', any width), the encoder's states; needed with an encoder and without a cache.
        positions: Integer (1|B, T), position of each token in its text; a text begins at 0. When None, a row is one
            text.
        padding_mask: (B, T), as in `Recurrence`; of a call without a cache.
        encoder_attention_mask, encoder_padding_mask: As in `DecoderBlock`; (B, 1, S') and (B, S').
        cache: A cache that the block returned; `cross_` parts may have B / n rows, as in `DecoderBlock`.
        cache_positions: Integer (B, T), successive: the position of each token in the cache.
        in_place, return_attention_scores, return_cache: As in `Attention`.
        mask: (B, T), Keras' mask of `hidden_states`: the `padding_mask` if no mask is given.

    Returns:
        Hidden states (B, T, D). If more is asked for, a tuple: the hidden states; the cache; with cross-attention its
        weights (B, N, T, S'). The cache has the parts of `Recurrence` or `Convolution`, and `cross_key` and
        `cross_value`: of the cross-attention, or the initial states, (B, 1, 1, U).

    Raises:
        ValueError: The mixer is unknown, a convolution gets an initial state, or a context is given to a block without
            encoder or missing in a block with one.

    Example:

    >>> block = MixerDecoderBlock("lstm", intermediate_dim=16)
    >>> hidden_states, cache = block(np.ones((1, 3, 8)), return_cache=True)
    >>> tuple(cache["value"].shape)
    (1, 1, 3, 16)
    """

    def __init__(
        self,
        mixer: str,
        intermediate_dim: int,
        encoder: str | None = None,
        num_heads: int = 1,
        attention_dropout: float = 0.0,
        kernel_size: int = 3,
        gated: bool = False,
        activation: Any = "tanh",
        dropout: float = 0.0,
        norm: str = "layer",
        norm_order: str = "pre",
        epsilon: float = 1e-5,
        use_bias: bool = True,
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        return_cache: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ):
        heads, others = share_out(kwargs, Attention)
        super().__init__(norm_order=norm_order, **others)
        check_rates(dropout=dropout, attention_dropout=attention_dropout)
        _check_encoder(encoder, mixer)
        self.encoder, self.intermediate_dim, self.return_cache = encoder, intermediate_dim, return_cache
        ranges = {"initializer_range": initializer_range, "output_initializer_range": output_initializer_range}
        self.use_bias, self.initializer_range, self.output_initializer_range = use_bias, *ranges.values()
        self.options = {name: heads[name] for name in DENSE_OPTIONS if name in heads}
        shared = {"use_bias": use_bias, "dtype": self.dtype_policy.name, **ranges}
        make = partial(make_norm, norm, epsilon, shared["dtype"], use_bias=use_bias)
        heads = {"linear_from": None, **heads, "num_heads": num_heads, "dropout": attention_dropout, **shared}
        mixing = {**self.options, "activation": activation, "name": "mixer", **shared}
        recurrent = {"carries_first": encoder == "state"}
        self.mixer = make_mixer(mixer, intermediate_dim, recurrent, kernel_size, gated, **mixing)
        self.mixer_norm, self.mixer_output_norm = self.norms("mixer", make)
        crossed = _cross_attention(self, heads, seed, make)
        self.cross_attention, self.cross_attention_norm, self.cross_attention_output_norm = crossed
        self.dropout = Dropout(dropout, seed=seed, dtype=shared["dtype"], name="dropout")
        self.return_scores = self.cross_attention is not None and self.cross_attention.return_scores

    def build(self, hidden_states_shape, context_shape=None):
        self.expect_width(hidden_states_shape)
        self.mixer.build(hidden_states_shape)
        norms = self.mixer_norm, self.mixer_output_norm, self.cross_attention_norm, self.cross_attention_output_norm
        for norm in norms:
            if norm is not None:
                norm.build(hidden_states_shape)
        self.first_states = []
        if self.cross_attention is not None:
            self.cross_attention.build(hidden_states_shape, context_shape)
        elif self.encoder:
            shape = (None, (context_shape or hidden_states_shape)[-1])
            names = [f"first_{name}" for name in self.mixer.parts]
            self.first_states = [built_dense(self, name, self.intermediate_dim, shape) for name in names]

    @rematerialized
    def call(
        self, hidden_states, context=None, *, positions=None, padding_mask=None, encoder_attention_mask=None,
        encoder_padding_mask=None, cache=None, cache_positions=None, in_place=False, return_attention_scores=None,
        return_cache=None, mask=None, training=None,
    ):  # fmt: skip
        self._check(hidden_states, context, cache, cache_positions)
        wanted = requested(self, cache, return_cache, return_attention_scores)
        if positions is None:
            places = ops.arange(length_of(hidden_states), dtype="int32")[None]  # (1, T)
            positions = places if cache is None else cache_positions  # (1|B, T)
        if padding_mask is None and cache is None:
            padding_mask = carried(self, hidden_states, mask)  # (B, T)
        reads = self.encoder == "attention" or encoder_attention_mask is None
        if encoder_padding_mask is None and cache is None and context is not None and reads:
            encoder_padding_mask = carried(self, context, None, "context", "encoder_padding_mask")  # (B, S')
        cross_cache = self._cross_cache(context, encoder_attention_mask, encoder_padding_mask, cache)

        def mix(x):
            own = cache and parted(cache)[0]
            first = {"first": _first(cross_cache, hidden_states)} if self.encoder == "state" else {}
            writes = {"cache": own, "cache_positions": cache_positions, "in_place": in_place} if cache else {}
            options = {"positions": positions, "padding_mask": padding_mask, "return_cache": True}
            return self.mixer(x, **options, **first, **writes)

        def cross_attend(x):
            options = {"attention_mask": encoder_attention_mask, "padding_mask": encoder_padding_mask}
            options |= {"return_cache": True, "return_attention_scores": wanted.scores, "training": training}
            if cache is None:
                return self.cross_attention(x, context, **options)
            return attend_as_queries_of_one_row(self.cross_attention, x, cross_cache, **options)

        add, scores = self.adder(training), []
        hidden_states, new_cache = add(hidden_states, mix, self.mixer_norm, output_norm=self.mixer_output_norm)
        if self.cross_attention is not None:
            norms = self.cross_attention_norm, self.cross_attention_output_norm
            hidden_states, cross_cache, *scores = add(hidden_states, cross_attend, norms[0], output_norm=norms[1])
        return wanted.outputs(hidden_states, joined(new_cache, cross_cache), scores)

    def _check(self, hidden_states, context, cache, cache_positions):
        check_vectors(hidden_states=hidden_states, context=context)
        has_source = context is not None or cache is not None
        if (self.encoder and not has_source) or (not self.encoder and context is not None):
            expected = "a context (the encoder's states), or a cache with its parts" if self.encoder else "no context"
            received = "neither" if self.encoder else "one"
            raise ValueError(f"a block with encoder={self.encoder!r} takes {expected}: received {received}.")
        sizes = dict.fromkeys(self.mixer.parts, self.mixer.part_shape(hidden_states.shape))
        if self.encoder == "attention":
            sizes = joined(sizes, self.cross_attention.part_shapes(hidden_states.shape[-1]))
        elif self.encoder:
            sizes = joined(sizes, {name: (None, *sizes[name][1:]) for name in self.mixer.parts})
        check_cache(cache, sizes, cache_positions, hidden_states.shape[:2])

    def _cross_cache(self, context, attention_mask, padding_mask, cache) -> dict:
        """Return the encoder's parts of the cache by name: from a given cache, or computed as initial states."""
        if cache is not None:
            return parted(cache)[1]
        if self.encoder != "state":
            return {}
        real = key_mask(context, attention_mask, padding_mask)  # (B, 1, S')
        real = ops.ones((ops.shape(context)[0], 1, length_of(context)), "bool") if real is None else real
        last = ops.max(ops.where(real, ops.arange(length_of(context), dtype="int32"), 0), axis=-1)  # (B, 1)
        last = take_at(context, last)  # (B, 1, D)
        states = [ops.tanh(dense(without_length(last))) for dense in self.first_states]  # (B, U)
        return {name: state[:, None, None] for name, state in zip(self.mixer.parts, states, strict=True)}

    def compute_output_spec(
        self, hidden_states, context=None, *, cache=None, return_attention_scores=None, return_cache=None, **inputs
    ):
        self._check(hidden_states, context, cache, inputs.get("cache_positions"))
        wanted, scores = requested(self, cache, return_cache, return_attention_scores), []
        output, new_cache = self.mixer.compute_output_spec(
            hidden_states, positions=hidden_states, cache=cache, return_cache=True
        )
        if self.encoder == "attention":
            cross = cache and parted(cache)[1]
            asks = {"return_cache": True, "return_attention_scores": True, "cache": cross}
            _, cross, *scores = self.cross_attention.compute_output_spec(hidden_states, context, **asks)
            return wanted.outputs(output, joined(new_cache, cross), scores)
        one = (hidden_states.shape[0], 1, 1, self.intermediate_dim)
        names = self.mixer.parts if self.encoder else ()
        shapes = {name: one if cache is None else parted(cache)[1][name].shape for name in names}
        cross = {name: keras.KerasTensor(shape, dtype=self.compute_dtype) for name, shape in shapes.items()}
        return wanted.outputs(output, joined(new_cache, cross))


def _cross_attention(block: Any, heads: dict[str, Any], seed: int | None, make: Any) -> tuple[Any, Any, Any]:
    """Return the cross-attention of a block, and its norms; None for each of them without one."""
    if block.encoder != "attention":
        return None, None, None
    attention = Attention(name="cross_attention", seed=part_of_seed(seed, 1), **heads)
    return attention, *block.norms("cross_attention", make)


def _check_encoder(encoder: str | None, mixer: str) -> None:
    if encoder not in ("attention", "state", None) or (encoder == "state" and mixer not in CELLS):
        raise ValueError(
            f"encoder must be 'attention', 'state' (of a recurrent mixer) or None: received {encoder!r} with "
            f"mixer={mixer!r}."
        )


def _first(cross_cache: dict, hidden_states: Any) -> dict:
    """Return the initial states, each (B, U); the beams of a text share them."""
    rows = ops.shape(hidden_states)[0]
    return {name: ops.repeat(part[:, 0, 0], rows // ops.shape(part)[0], axis=0) for name, part in cross_cache.items()}
