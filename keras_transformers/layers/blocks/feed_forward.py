"""The position-wise feed-forward layer."""

from __future__ import annotations

from functools import partial
from typing import Any

import keras

from keras_transformers.layers.core.dense import (
    built_dense,
    find_activation,
    gelu,
    lean_gelu,
    length_of,
    with_length,
    without_length,
)
from keras_transformers.layers.core.dropout import Dropout, part_of_seed
from keras_transformers.layers.interface.input_checks import check_rates, check_shape, check_sizes, check_vectors
from keras_transformers.layers.interface.layer_options import DenseOwner


@keras.saving.register_keras_serializable("keras_transformers")
class FeedForward(DenseOwner):
    """Two dense layers with an activation between, applied to every position alike; gated on request.

    Plain: `output(activation(intermediate(x)))`; gated: `output(activation(gate(x)) * intermediate(x))`.
    Papers: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762; gated: Shazeer 2020,
    https://arxiv.org/abs/2002.05202.

    Args:
        intermediate_dim: Width between the two layers.
        activation: Name of a Keras activation, or a function; `"gelu"` is the exact one, `"gelu_tanh"` its
            approximation.
        gated: Whether a second projection gates the first.
        use_bias: Whether the dense layers have biases.
        intermediate_bias: Whether those before the activation have biases; `use_bias` when None.
        initializer_range: Standard deviation of the truncated normal initialiser; None for Glorot uniform, `"fan_in"`
            for `1 / sqrt(inputs)`.
        output_initializer_range: The same for the output layer; `initializer_range` when None.
        dropout: Rate between the two layers.
        seed: Seed of the dropout, an integer; None for another one at each start.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint:
            For all dense layers, as in `Attention`.

    Call arguments:
        hidden_states: (B, T, D).

    Returns:
        (B, T, D).

    Raises:
        ValueError: A size or a rate is invalid, or the input is not (B, T, D) of floating-point numbers.

    Example:

    >>> tuple(FeedForward(intermediate_dim=16, activation="silu", gated=True)(np.ones((1, 2, 4))).shape)
    (1, 2, 4)
    """

    def __init__(
        self,
        intermediate_dim: int,
        activation: Any = "relu",
        gated: bool = False,
        use_bias: bool = True,
        intermediate_bias: bool | None = None,
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(intermediate_dim=intermediate_dim)
        check_rates(dropout=dropout)
        self.supports_masking = True
        self.intermediate_dim = intermediate_dim
        self.activation = find_activation(activation)
        self.gated = gated
        self.use_bias, self.intermediate_bias = use_bias, intermediate_bias
        self.initializer_range = initializer_range
        self.output_initializer_range = output_initializer_range
        self.dropout = Dropout(dropout, seed=part_of_seed(seed, 0), dtype=self.dtype_policy.name, name="dropout")

    def build(self, hidden_states_shape):
        check_shape(hidden_states_shape)
        self.expect_width(hidden_states_shape)
        use_bias = self.use_bias if self.intermediate_bias is None else self.intermediate_bias
        sizes: dict[str, Any] = {"units": self.intermediate_dim, "input_shape": hidden_states_shape}
        make = partial(built_dense, self, **sizes, use_bias=use_bias)
        self.intermediate = make(name="intermediate")
        self.gate: Any = make(name="gate") if self.gated else None
        inner_shape = (*hidden_states_shape[:-1], self.intermediate_dim)
        self.output_dense = built_dense(self, "output", hidden_states_shape[-1], inner_shape)

    def call(self, hidden_states, training=None):
        check_vectors(hidden_states=hidden_states)
        flat = without_length(hidden_states)  # (B * T, D)
        activation = lean_gelu if training and self.activation is gelu else self.activation
        inner = self.intermediate(flat)  # (B * T, intermediate_dim)
        inner = activation(self.gate(flat)) * inner if self.gated else activation(inner)
        flat = self.output_dense(self.dropout(inner, training=training))  # (B * T, D)
        return with_length(flat, length_of(hidden_states))  # (B, T, D)

    def compute_output_spec(self, hidden_states, training=None):
        check_vectors(hidden_states=hidden_states)
        return keras.KerasTensor(hidden_states.shape, dtype=self.compute_dtype)
