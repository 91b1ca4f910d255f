"""A short convolution between two gates, in place of self-attention."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.layers.core.dense import built_dense, length_of, with_length, without_length
from keras_transformers.layers.interface.input_checks import check_shape, check_sizes, check_vectors
from keras_transformers.layers.interface.layer_options import DenseOwner
from keras_transformers.layers.interface.old_files import ReturnsCache
from keras_transformers.layers.interface.optional_outputs import requested
from keras_transformers.layers.mixers.causal_filter import CausalFilter
from keras_transformers.layers.mixers.states import only_real, real_tokens


@keras.saving.register_keras_serializable("keras_transformers")
class ShortConvolution(ReturnsCache, DenseOwner):
    """A causal convolution of each channel over a few tokens, with a gate before and after it; with a state.

    `output(after * filter(before * x))`, where `before`, `after` and `x` are projections of the input. Use it for LFM2,
    most of whose blocks have it. The cache is the last inputs of the convolution, however long the text is.
    Paper: Hasani et al. 2025, https://arxiv.org/abs/2511.23404.

    Args:
        kernel_size: Tokens that an output sees, L.
        use_bias: Whether the convolution and the dense layers have biases.
        initializer_range, output_initializer_range, return_cache: As in `Attention`.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint:
            For the convolution and the dense layers, as in `Attention`.

    Call arguments:
        hidden_states: (B, T, D).
        positions: Integer (1|B, T), position of each token in its text; a row is one text when None.
        padding_mask: (B, T), non-zero where a token is real.
        cache: `{"state_inputs"}`, (B, L - 1, D): of the tokens before the first one.
        cache_positions: Integer (B, T), successive: where the tokens follow the cached tokens.
        in_place: Ignored: a state is small.
        return_cache: As in `Attention`.
        mask: (B, T), Keras' mask of `hidden_states`: the `padding_mask` if no mask is given.

    Returns:
        The output (B, T, D), or a pair of it and the cache after the last real token, as in `Attention`.

    Raises:
        ValueError: `kernel_size` is no positive integer, or an input has another shape.

    Example:

    >>> output, cache = ShortConvolution(3)(np.ones((1, 5, 8)), return_cache=True)
    >>> tuple(output.shape), tuple(cache["state_inputs"].shape)
    ((1, 5, 8), (1, 2, 8))
    """

    def __init__(
        self,
        kernel_size: int = 3,
        use_bias: bool = False,
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        return_cache: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(kernel_size=kernel_size)
        self.supports_masking, self.return_cache = True, return_cache
        self.kernel_size, self.use_bias = int(kernel_size), use_bias
        self.initializer_range, self.output_initializer_range = initializer_range, output_initializer_range
        shared = {"use_bias": use_bias, "initializer_range": initializer_range, "dtype": self.dtype_policy.name}
        self.filter = CausalFilter(self.kernel_size, name="filter", **shared, **self.options)

    def build(self, hidden_states_shape):
        check_shape(hidden_states_shape)
        self.expect_width(hidden_states_shape)
        width = hidden_states_shape[-1]
        self.inputs_dense = built_dense(self, "inputs", 3 * width, hidden_states_shape)
        self.filter.build((None, None, width))
        self.output_dense = built_dense(self, "output", width, hidden_states_shape)

    def call(
        self, hidden_states, *, positions=None, padding_mask=None, cache=None, cache_positions=None, in_place=False,
        return_cache=None, mask=None
    ):  # fmt: skip
        real, lengths = real_tokens(self, hidden_states, padding_mask, cache, cache_positions, mask)
        length, state = length_of(hidden_states), None if cache is None else cache["state_inputs"]
        parts = with_length(self.inputs_dense(without_length(only_real(hidden_states, real))), length)
        before, after, x = ops.split(parts, 3, axis=-1)  # (B, T, D) each
        mixed, state = self.filter(only_real(before * x, real), positions, lengths, state)
        output = with_length(self.output_dense(without_length(after * mixed)), length)  # (B, T, D)
        return requested(self, cache, return_cache).outputs(output, {"state_inputs": state})

    def part_shapes(self, width: int) -> dict[str, tuple]:
        """Return the shape (None, L - 1, D) of the cache, for hidden states of a width."""
        return {"state_inputs": (None, self.kernel_size - 1, width)}

    def compute_output_spec(self, hidden_states, *, cache=None, return_cache=None, **inputs):
        check_vectors(hidden_states=hidden_states)
        output = keras.KerasTensor(hidden_states.shape, dtype=self.compute_dtype)
        shape = (hidden_states.shape[0], self.kernel_size - 1, hidden_states.shape[-1])
        state = {"state_inputs": keras.KerasTensor(shape, dtype=self.compute_dtype)}
        return requested(self, cache, return_cache).outputs(output, state)
