"""Convolutions in place of self-attention: Keras' Conv1D, within each text."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.layers.attention.cache import check_cache, read_cache, write_cache
from keras_transformers.layers.attention.given_masks import key_mask
from keras_transformers.layers.core.dense import (
    built_dense,
    dense_initializer,
    dense_options,
    find_activation,
    length_of,
    with_length,
    without_length,
)
from keras_transformers.layers.interface.carried_masks import carried
from keras_transformers.layers.interface.input_checks import check_shape, check_sizes, check_vectors
from keras_transformers.layers.interface.layer_options import DenseOwner
from keras_transformers.layers.interface.old_files import ReturnsCache
from keras_transformers.layers.interface.optional_outputs import requested
from keras_transformers.utils.number_checks import is_size


@keras.saving.register_keras_serializable("keras_transformers")
class Convolution(ReturnsCache, DenseOwner):
    """A convolution with the call arguments of self-attention: over both sides, or over the past with a cache.

    In an encoder it sees `kernel_size // 2` tokens on each side, in a decoder the token and `kernel_size - 1` before
    it. Positions outside the text are zeros. The cache holds the inputs: `key`.
    Papers: Kim 2014, https://arxiv.org/abs/1408.5882; Gehring et al. 2017, https://arxiv.org/abs/1705.03122; gates,
    Dauphin et al. 2017, https://arxiv.org/abs/1612.08083.

    Args:
        units: Channels, U. If U is not D, a dense layer projects back to D.
        kernel_size: Tokens that an output sees; an odd number, so that an encoder sees the same number on both sides.
        activation: Name of the Keras activation of the channels; of the gates, with `gated`.
        gated: Whether U additional channels gate the others.
        use_bias, initializer_range, output_initializer_range, return_cache: As in `Attention`.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint:
            For the convolution and the dense layer, as in `Attention`.

    Call arguments:
        hidden_states: (B, T, D).
        positions: Integer (1|B, T), position of each token in its text, from 0. When None, `attention_mask` is used.
        attention_mask: Boolean (B, 1, T), True where a token is real; all are when None.
        padding_mask: (B, T), the same; the mask that Keras carries with `hidden_states` when both are None.
        cache: `{"key"}`, (B, 1, S, D), with `cache_positions`.
        cache_positions: Integer (B, T).
        in_place, return_cache: As in `Attention`.
        mask: (B, T), Keras' mask of `hidden_states`: the `padding_mask` if no mask is given.

    Returns:
        The output (B, T, D), or a pair of it and the cache, as in `Attention`; without `positions` the cache is empty.

    Raises:
        ValueError: `kernel_size` is not an odd number.

    Example:

    >>> layer, positions = Convolution(units=6), np.arange(3)[None]
    >>> output, cache = layer(np.ones((1, 3, 4)), positions=positions, return_cache=True)
    >>> tuple(output.shape), tuple(cache["key"].shape)
    ((1, 3, 4), (1, 1, 3, 4))
    """

    parts = ("key",)

    def __init__(
        self,
        units: int,
        kernel_size: int = 3,
        activation: Any = "gelu",
        gated: bool = False,
        use_bias: bool = True,
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        return_cache: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(units=units)
        self.supports_masking, self.return_cache = True, return_cache
        if not is_size(kernel_size) or kernel_size % 2 != 1:
            raise ValueError(f"kernel_size must be an odd number from 1 on: received {kernel_size!r}.")
        self.units, self.kernel_size, self.activation, self.gated = units, int(kernel_size), activation, gated
        self.use_bias, self.initializer_range = use_bias, initializer_range
        self.output_initializer_range = output_initializer_range
        options = {"kernel_initializer": dense_initializer(initializer_range), **dense_options(self)}
        options |= {"use_bias": use_bias, "dtype": self.dtype_policy.name, "name": "convolve"}
        self.convolve = keras.layers.Conv1D(2 * units if gated else units, self.kernel_size, **options)

    def build(self, hidden_states_shape):
        check_shape(hidden_states_shape)
        self.expect_width(hidden_states_shape)
        width = hidden_states_shape[-1]
        self.convolve.build((None, None, width))  # any length, also shorter than the kernel
        is_as_wide = self.units == width
        self.output_dense = None if is_as_wide else built_dense(self, "output", width, (None, None, self.units))

    def call(
        self, hidden_states, *, positions=None, attention_mask=None, padding_mask=None, cache=None,
        cache_positions=None, in_place=False, return_cache=None, mask=None
    ):  # fmt: skip
        check_vectors(hidden_states=hidden_states)
        sizes = {"key": self.part_shape(hidden_states.shape)}
        check_cache(cache, sizes, cache_positions, hidden_states.shape[:2])
        positions = cache_positions if positions is None else positions
        wanted, length, new = requested(self, cache, return_cache), length_of(hidden_states), {}
        if attention_mask is None and padding_mask is None:
            padding_mask = carried(self, hidden_states, mask)
        attention_mask = key_mask(hidden_states, attention_mask, padding_mask)  # (B, 1, T)
        if attention_mask is not None:
            hidden_states = ops.where(ops.expand_dims(attention_mask[:, 0], -1), hidden_states, 0)
        if positions is None:
            channels = self.convolve(self._padded(hidden_states))  # (B, T, U)
        else:
            new = {"key": ops.expand_dims(hidden_states, 1)}  # (B, 1, T, D)
            new = new if cache is None else write_cache(new, cache, cache_positions, in_place)  # (B, 1, S, D)
            windows = self._windows(new["key"], positions, cache_positions, length)  # (B * T, k, D)
            channels = with_length(self.convolve(windows)[:, 0], length)  # (B, T, U)
        outputs = self._activate(channels)
        if self.output_dense is not None:
            outputs = with_length(self.output_dense(without_length(outputs)), length)  # (B, T, D)
        return wanted.outputs(outputs, new)

    def part_shape(self, hidden_states_shape: tuple) -> tuple:
        """Return the shape of a part of the cache for hidden states (B, T, D): (B, 1, None, D)."""
        return hidden_states_shape[0], 1, None, hidden_states_shape[-1]

    def _activate(self, channels):
        function = find_activation(self.activation)
        if not self.gated:
            return function(channels)
        channels, gates = ops.split(channels, 2, axis=-1)
        return channels * function(gates)

    def _padded(self, hidden_states):
        """Pad tokens with zeros on both sides, (B, T + k - 1, D)."""
        half = self.kernel_size // 2
        return ops.pad(hidden_states, [(0, 0), (half, half), (0, 0)])

    def _windows(self, inputs, positions, cache_positions, length):
        """Gather the window of each output, the token and those before it in its text: (B * T, k, D)."""
        back = ops.arange(self.kernel_size - 1, -1, -1, dtype="int32")  # (k,)
        in_text = ops.expand_dims(ops.cast(positions, "int32"), 2) >= back  # (1|B, T, k)
        if cache_positions is None:
            cache_positions = ops.expand_dims(ops.arange(length, dtype="int32"), 0)  # (1, T)
            cache_positions = ops.broadcast_to(cache_positions, (ops.shape(inputs)[0], length))
        places = ops.expand_dims(ops.cast(cache_positions, "int32"), 2) - back  # (B, T, k)
        places = ops.reshape(ops.maximum(places, 0), (ops.shape(inputs)[0], -1))  # (B, T * k)
        shape = (-1, length, self.kernel_size, inputs.shape[-1])
        windows = ops.reshape(read_cache(inputs, places), shape)  # (B, T, k, D)
        windows = ops.where(ops.expand_dims(in_text, -1), windows, 0)
        return ops.reshape(windows, (-1, self.kernel_size, inputs.shape[-1]))

    def compute_output_spec(self, hidden_states, *, positions=None, cache=None, return_cache=None, **inputs):
        check_vectors(hidden_states=hidden_states)
        output = keras.KerasTensor(hidden_states.shape, dtype=self.compute_dtype)
        batch, length, width = hidden_states.shape
        shape = (batch, 1, length, width) if cache is None else cache["key"].shape
        new = {} if positions is None else {"key": keras.KerasTensor(shape, dtype=self.compute_dtype)}
        return requested(self, cache, return_cache).outputs(output, new)
