"""A causal convolution of each channel alone, within each text, with the last inputs as its state."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.layers.core.dense import dense_initializer, dense_options, length_of
from keras_transformers.layers.core.gather import take_at
from keras_transformers.layers.interface.input_checks import check_sizes
from keras_transformers.layers.interface.layer_options import DenseOwner
from keras_transformers.utils.tensor_types import Tensor


@keras.saving.register_keras_serializable("keras_transformers")
class CausalFilter(DenseOwner):
    """A weighted sum of a channel's values at a token and at those before it in the same text, for each channel alone.

    A part of `ShortConvolution` and `GatedDelta`: a depthwise convolution whose state for decoding is its last inputs.
    Paper: depthwise convolutions, Chollet 2016, https://arxiv.org/abs/1610.02357.

    Args:
        kernel_size: Tokens that an output sees, L: the token and those before it.
        use_bias: Whether each channel has a bias.
        initializer_range: As in `Attention`.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint:
            As in `keras.layers.Dense`.

    Call arguments:
        inputs: (B, T, C).
        positions: Integer (1|B, T), position of each token in its text; a row is one text when None.
        lengths: Integer (B,), tokens of each row up to its last real one; T when None.
        state: (B, L - 1, C), the inputs before the first one, zeros outside the text; `positions` are then not needed.

    Returns:
        The outputs (B, T, C), and the state after `lengths` tokens, (B, L - 1, C).

    Example:

    >>> outputs, state = CausalFilter(2, kernel_initializer="ones")(np.array([[[1.0], [2.0], [4.0]]]))
    >>> outputs.numpy().ravel().tolist(), state.numpy().ravel().tolist()
    ([1.0, 3.0, 6.0], [4.0])
    """

    def __init__(
        self, kernel_size: int = 3, use_bias: bool = False, initializer_range: float | str | None = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        check_sizes(kernel_size=kernel_size)
        self.kernel_size, self.use_bias, self.initializer_range = int(kernel_size), use_bias, initializer_range

    def build(self, inputs_shape):
        self.expect_width(inputs_shape)
        given = {"kernel_initializer": dense_initializer(self.initializer_range), **dense_options(self)}

        def options(name: str) -> dict[str, Any]:
            return {kind: given.get(f"{name}_{kind}") for kind in ("initializer", "regularizer", "constraint")}

        width = inputs_shape[-1]
        self.kernel = self.add_weight(shape=(self.kernel_size, width), name="kernel", **options("kernel"))
        self.bias: Any = None
        if self.use_bias:
            zeros = {"initializer": options("bias")["initializer"] or "zeros"}
            self.bias = self.add_weight(shape=(width,), name="bias", **options("bias") | zeros)

    def call(self, inputs: Tensor, positions: Any = None, lengths: Any = None, state: Any = None) -> tuple:
        earlier, length = self.kernel_size - 1, length_of(inputs)
        if state is None:
            known = ops.pad(inputs, [(0, 0), (earlier, 0), (0, 0)])  # (B, L - 1 + T, C)
        else:
            known, positions = ops.concatenate([ops.cast(state, inputs.dtype), inputs], axis=1), None
        places = None if positions is None else ops.expand_dims(ops.cast(positions, "int32"), -1)  # (1|B, T, 1)

        outputs = known[:, earlier:] * self.kernel[earlier]  # (B, T, C)
        for back in range(1, self.kernel_size):
            before = known[:, earlier - back : earlier - back + length]
            before = before if places is None else ops.where(places >= back, before, 0)
            outputs = outputs + before * self.kernel[earlier - back]
        outputs = outputs if self.bias is None else outputs + self.bias
        return outputs, self._state(known, positions, lengths, length)

    def _state(self, known: Tensor, positions: Any, lengths: Any, length: Any) -> Tensor:
        """Return the last inputs (B, L - 1, C) of known ones (B, L - 1 + T, C), zeros outside the last text."""
        earlier = ops.arange(self.kernel_size - 1, dtype="int32")  # (L - 1,)
        if lengths is None:
            lengths = ops.zeros_like(known[:, 0, 0], dtype="int32") + length  # (B,)
        ends = ops.expand_dims(ops.cast(lengths, "int32"), 1)  # (B, 1)
        last = take_at(known, ends + earlier)
        if positions is None:
            return last
        positions = ops.broadcast_to(ops.cast(positions, "int32"), ops.shape(known[:, self.kernel_size - 1 :, 0]))
        ends = take_at(positions, ops.maximum(ends - 1, 0)) + 1  # (B, 1), tokens of the last text
        return ops.where(ops.expand_dims(ends >= self.kernel_size - 1 - earlier, -1), last, 0)

    def compute_output_spec(self, inputs, positions=None, lengths=None, state=None):
        batch, _, width = inputs.shape
        shapes = inputs.shape, (batch, self.kernel_size - 1, width)
        return tuple(keras.KerasTensor(shape, dtype=self.compute_dtype) for shape in shapes)
