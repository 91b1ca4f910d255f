"""A decoder block whose mixer keeps a state of fixed size, in place of self-attention with its keys and values."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.blocks.feed_forward import FeedForward
from keras_transformers.layers.blocks.rematerialization import Block, rematerialized
from keras_transformers.layers.blocks.sublayers import seeds
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.layers.core.layer_norm import make_norm
from keras_transformers.layers.interface.carried_masks import carried
from keras_transformers.layers.interface.input_checks import check_choice, check_rates, check_vectors
from keras_transformers.layers.interface.layer_options import DENSE_OPTIONS, option_names, share_out
from keras_transformers.layers.interface.old_files import ReturnsCache
from keras_transformers.layers.interface.optional_outputs import requested
from keras_transformers.layers.mixers.by_name import STATE_MIXERS


@keras.saving.register_keras_serializable("keras_transformers")
class StateDecoderBlock(ReturnsCache, Block):
    """A mixer with a state, then a feed-forward layer: a block of hybrid decoders, beside those with attention.

    However long a text is, a step takes the same time and memory.
    Papers: LFM2, Hasani et al. 2025, https://arxiv.org/abs/2511.23404; Yang et al. 2024,
    https://arxiv.org/abs/2412.06464.

    Args:
        mixer: `"short_convolution"`: `ShortConvolution`; `"gated_delta"`: `GatedDelta`.
        intermediate_dim: Width of the feed-forward layer.
        dropout, activation_dropout, activation, norm, norm_order, epsilon, use_bias, norm_bias, feed_forward_bias,
            seed: As in `DecoderBlock`.
        mixer_bias: Whether the mixer's layers have biases.
        initializer_range, output_initializer_range: As in `Attention`, for all layers.
        return_cache: Whether each call returns the cache as well.
        **kwargs: Options of the mixer and of `FeedForward`; `residual_scale`; and Keras' own.

    Call arguments:
        hidden_states: (B, T, D).
        positions, padding_mask, cache, cache_positions, in_place, return_cache, mask: As in the mixer.

    Returns:
        Hidden states (B, T, D), or a pair of them and the cache.

    Raises:
        ValueError: The mixer is unknown, or as in it.

    Example:

    >>> block = StateDecoderBlock("short_convolution", intermediate_dim=16)
    >>> hidden_states, cache = block(np.ones((1, 5, 8)), return_cache=True)
    >>> tuple(cache["state_inputs"].shape)
    (1, 2, 8)
    """

    def __init__(
        self,
        mixer: str,
        intermediate_dim: int,
        dropout: float = 0.0,
        activation_dropout: float = 0.0,
        activation: Any = "gelu",
        norm: str = "layer",
        norm_order: str = "pre",
        epsilon: float = 1e-5,
        use_bias: bool = True,
        norm_bias: bool | None = None,
        mixer_bias: bool = False,
        feed_forward_bias: bool | None = None,
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        return_cache: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ):
        check_choice(mixer, tuple(STATE_MIXERS), "mixer")
        mixing, inner, others = share_out(kwargs, STATE_MIXERS[mixer], FeedForward)
        super().__init__(norm_order=norm_order, **others)
        check_rates(dropout=dropout, activation_dropout=activation_dropout)
        self.options = {name: kwargs[name] for name in DENSE_OPTIONS if name in kwargs}
        self.return_cache = return_cache
        self.autocast = False  # Keras would round states that are float32 in half precision, too
        of_block, of_inner = seeds(seed, 2)
        shared = {"initializer_range": initializer_range, "output_initializer_range": output_initializer_range}
        shared["dtype"] = dtype = self.dtype_policy.name
        make = partial(make_norm, norm, epsilon, dtype, use_bias=use_bias if norm_bias is None else norm_bias)
        self.mixer = _make_mixer(mixer, epsilon, {**mixing, "use_bias": mixer_bias, **shared})
        self.mixer_norm, self.mixer_output_norm = self.norms("mixer", make)
        inner |= {"use_bias": use_bias if feed_forward_bias is None else feed_forward_bias, **shared}
        inner |= {"activation": activation, "dropout": activation_dropout, "seed": of_inner, "name": "feed_forward"}
        self.feed_forward = FeedForward(intermediate_dim, **inner)
        self.feed_forward_norm, self.feed_forward_output_norm = self.norms("feed_forward", make)
        self.dropout = Dropout(dropout, seed=of_block, dtype=dtype, name="dropout")

    def build(self, hidden_states_shape):
        self.expect_width(hidden_states_shape)
        norms = self.mixer_norm, self.mixer_output_norm, self.feed_forward_norm, self.feed_forward_output_norm
        for layer in (self.mixer, self.feed_forward, *norms):
            if layer is not None:
                layer.build(hidden_states_shape)

    @rematerialized
    def call(
        self, hidden_states, *, positions=None, padding_mask=None, cache=None, cache_positions=None, in_place=False,
        return_cache=None, mask=None, training=None,
    ):  # fmt: skip
        if padding_mask is None and cache is None:
            padding_mask = carried(self, hidden_states, mask)  # (B, T)
        hidden_states = ops.cast(hidden_states, self.compute_dtype)
        given = {"positions": positions, "padding_mask": padding_mask, "cache": cache, "return_cache": True}
        mix = partial(self.mixer, cache_positions=cache_positions, in_place=in_place, **given)
        feed_forward, add = partial(self.feed_forward, training=training), self.adder(training)
        norms = (self.mixer_norm, self.mixer_output_norm), (self.feed_forward_norm, self.feed_forward_output_norm)
        hidden_states, new = add(hidden_states, mix, norms[0][0], output_norm=norms[0][1])  # (B, T, D)
        hidden_states, *_ = add(hidden_states, feed_forward, norms[1][0], output_norm=norms[1][1])  # (B, T, D)
        return requested(self, cache, return_cache).outputs(hidden_states, new)

    def compute_output_spec(self, hidden_states, *, cache=None, return_cache=None, training=None, **inputs):
        check_vectors(hidden_states=hidden_states)
        output, new = self.mixer.compute_output_spec(hidden_states, cache=cache, return_cache=True)
        return requested(self, cache, return_cache).outputs(output, new)


def _make_mixer(name: str, epsilon: float, options: dict[str, Any]) -> Any:
    """Return the mixer of a name, with the epsilon of the block where it has norms, too."""
    layer = STATE_MIXERS[name]
    own = {"epsilon": epsilon} if "epsilon" in option_names(layer) else {}
    return layer(**{**options, **own}, name="mixer")
