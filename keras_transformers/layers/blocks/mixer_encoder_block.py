"""An encoder block with a recurrent layer or a convolution in place of self-attention."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras

from keras_transformers.layers.blocks.rematerialization import Block, rematerialized
from keras_transformers.layers.core.dropout import Dropout
from keras_transformers.layers.core.layer_norm import make_norm
from keras_transformers.layers.interface.carried_masks import carried
from keras_transformers.layers.interface.input_checks import check_rates, check_vectors
from keras_transformers.layers.interface.layer_options import DENSE_OPTIONS
from keras_transformers.layers.mixers.by_name import make_mixer


@keras.saving.register_keras_serializable("keras_transformers")
class MixerEncoderBlock(Block):
    """A recurrent layer or a convolution, with residual connection and normalisation.

    It takes the place of an `EncoderBlock`. It has no feed-forward layer, as the mixing layer has activations and a
    width.
    Papers: recurrent layers with residual connections and norms, Chen et al. 2018, https://arxiv.org/abs/1804.09849;
    convolutions, Gehring et al. 2017, https://arxiv.org/abs/1705.03122.

    Args:
        mixer: `"simple_rnn"`, `"gru"`, `"lstm"` or `"convolution"`.
        intermediate_dim: Width inside the mixing layer: of the states, both directions together, or channels.
        bidirectional: Whether a recurrent layer also reads the text backwards.
        kernel_size, gated: As in `Convolution`.
        activation: Activation of the states or the channels.
        dropout: Rate on the output of each sublayer.
        norm, norm_order, epsilon, seed: As in `EncoderBlock`.
        use_bias, initializer_range, output_initializer_range: As in `Recurrence`.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint:
            As in `Recurrence`.

    Call arguments:
        hidden_states: (B, T, D).
        attention_mask, padding_mask: As in `Recurrence`.
        mask: (B, T), Keras' mask of `hidden_states`: the `padding_mask` if no mask is given.

    Returns:
        (B, T, D).

    Raises:
        ValueError: The mixer is unknown, or its width or kernel does not suit it.

    Example:

    >>> block = MixerEncoderBlock("gru", intermediate_dim=16)
    >>> tuple(block(np.ones((1, 3, 8)), attention_mask=np.ones((1, 1, 3), bool)).shape)
    (1, 3, 8)
    """

    extra_options = DENSE_OPTIONS
    return_scores = False

    def __init__(
        self,
        mixer: str,
        intermediate_dim: int,
        bidirectional: bool = True,
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
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(norm_order=norm_order, **kwargs)
        check_rates(dropout=dropout)
        dtype = self.dtype_policy.name
        shared = {"use_bias": use_bias, "initializer_range": initializer_range, "dtype": dtype}
        shared |= {"output_initializer_range": output_initializer_range, "activation": activation, **self.options}
        recurrent = {"bidirectional": bidirectional}
        self.mixer = make_mixer(mixer, intermediate_dim, recurrent, kernel_size, gated, name="mixer", **shared)
        make = partial(make_norm, norm, epsilon, dtype, use_bias=use_bias)
        self.mixer_norm, self.mixer_output_norm = self.norms("mixer", make)
        self.dropout = Dropout(dropout, seed=seed, dtype=dtype, name="dropout")

    def build(self, hidden_states_shape):
        self.expect_width(hidden_states_shape)
        self.mixer.build(hidden_states_shape)
        for norm in (self.mixer_norm, self.mixer_output_norm):
            if norm is not None:
                norm.build(hidden_states_shape)

    @rematerialized
    def call(self, hidden_states, *, attention_mask=None, padding_mask=None, mask=None, training=None):
        check_vectors(hidden_states=hidden_states)
        if attention_mask is None and padding_mask is None:
            padding_mask = carried(self, hidden_states, mask)  # (B, T)
        masks = {"attention_mask": attention_mask, "padding_mask": padding_mask}
        mix = partial(self.mixer, return_cache=False, **masks)
        add = partial(self.adder(training), output_norm=self.mixer_output_norm)
        return add(hidden_states, mix, self.mixer_norm)[0]  # (B, T, D)

    def compute_output_spec(self, hidden_states, **inputs):
        return self.mixer.compute_output_spec(hidden_states)
