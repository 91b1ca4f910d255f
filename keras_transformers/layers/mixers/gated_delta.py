"""A gated delta rule in place of self-attention: a memory of fixed size for each head."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformers.layers.core.dense import built_dense, length_of, silu, with_length, without_length
from keras_transformers.layers.core.layer_norm import make_norm
from keras_transformers.layers.interface.input_checks import check_shape, check_sizes, check_vectors
from keras_transformers.layers.interface.layer_options import DenseOwner
from keras_transformers.layers.interface.old_files import ReturnsCache
from keras_transformers.layers.interface.optional_outputs import requested
from keras_transformers.layers.mixers.causal_filter import CausalFilter
from keras_transformers.layers.mixers.delta_rule import Heads, chunked, step
from keras_transformers.layers.mixers.states import only_real, real_tokens
from keras_transformers.utils.tensor_types import Tensor

TINY = 1e-6  # added to squared lengths of queries and keys
LARGEST_DECAY = 16.0  # of the initial rates of forgetting, as Mamba has them


@keras.saving.register_keras_serializable("keras_transformers")
class GatedDelta(ReturnsCache, DenseOwner):
    """Linear attention whose memory, a matrix for each head, forgets and is corrected by each token; with a state.

    Queries, keys and values go through a short causal convolution; queries and keys are of unit length. The output of
    each head is normed and gated. In a whole text the memory is computed in chunks of 64 tokens, with a state token by
    token. Use it for Qwen 3.5, three of four blocks of which have it.
    Papers: Yang et al. 2024, https://arxiv.org/abs/2412.06464; the delta rule, Schlag et al. 2021,
    https://arxiv.org/abs/2102.11174.

    Args:
        num_heads: Heads of values, N.
        num_key_heads: Heads of queries and keys, a divisor of N; N when None.
        key_dim: Width of a head of queries and keys, H.
        value_dim: Width of a head of values, V.
        kernel_size: Tokens that the convolution sees, L.
        epsilon: Added to the variance in the norm of each head's output.
        use_bias: Whether the dense layers and the convolution have biases.
        initializer_range, output_initializer_range, return_cache: As in `Attention`.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint:
            For the convolution and the dense layers, as in `Attention`.

    Call arguments:
        hidden_states, positions, padding_mask, cache_positions, in_place, return_cache, mask: As in
            `ShortConvolution`.
        cache: `{"state_inputs", "state_memory"}`, (B, L - 1, 2 * K * H + N * V) of the convolution, for K heads of
            keys, and float32 (B, N, H, V).

    Returns:
        The output (B, T, D), or a pair of it and the cache after the last real token, as in `Attention`.

    Raises:
        ValueError: A size is no positive integer, `num_key_heads` does not divide `num_heads`, or an input has another
            shape.

    Example:

    >>> output, cache = GatedDelta(num_heads=2, key_dim=4, value_dim=6)(np.ones((1, 5, 8)), return_cache=True)
    >>> tuple(output.shape), tuple(cache["state_memory"].shape)
    ((1, 5, 8), (1, 2, 4, 6))
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int,
        num_key_heads: int | None = None,
        kernel_size: int = 4,
        epsilon: float = 1e-6,
        use_bias: bool = False,
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        return_cache: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        num_key_heads = num_heads if num_key_heads is None else num_key_heads
        sizes = {"num_heads": num_heads, "num_key_heads": num_key_heads, "key_dim": key_dim, "value_dim": value_dim}
        check_sizes(kernel_size=kernel_size, **sizes)
        if num_heads % num_key_heads:
            raise ValueError(
                f"num_heads must be a multiple of num_key_heads: received {num_heads}, {num_key_heads}. Choose others."
            )
        self.supports_masking, self.return_cache = True, return_cache
        self.autocast = False  # Keras would round the memory, which is float32 in half precision, too
        self.num_heads, self.num_key_heads, self.kernel_size = int(num_heads), int(num_key_heads), int(kernel_size)
        self.key_dim, self.value_dim, self.use_bias = int(key_dim), int(value_dim), use_bias
        self.initializer_range, self.output_initializer_range = initializer_range, output_initializer_range
        dtype = self.dtype_policy.name
        shared = {"use_bias": use_bias, "initializer_range": initializer_range, "dtype": dtype}
        self.filter = CausalFilter(self.kernel_size, name="filter", **shared, **self.options)
        self.norm = make_norm("rms", epsilon, dtype, "norm")

    @property
    def widths(self) -> tuple[int, int, int]:
        """Widths of queries, keys and values, all heads together."""
        keys = self.num_key_heads * self.key_dim
        return keys, keys, self.num_heads * self.value_dim

    def build(self, hidden_states_shape):
        check_shape(hidden_states_shape)
        self.expect_width(hidden_states_shape)
        self.inputs_dense = built_dense(self, "inputs", sum(self.widths), hidden_states_shape)
        self.filter.build((None, None, sum(self.widths)))
        self.gate = built_dense(self, "gate", self.widths[2], hidden_states_shape)
        self.rate = built_dense(self, "rate", self.num_heads, hidden_states_shape)
        self.decay = built_dense(self, "decay", self.num_heads, hidden_states_shape)
        options = {"shape": (self.num_heads,), "autocast": False}
        self.decay_bias = self.add_weight(**options, initializer="ones", name="decay_bias")
        self.decay_log = self.add_weight(**options, initializer=_initial_decays, name="decay_log")
        self.norm.build((None, None, self.num_heads, self.value_dim))
        self.output_dense = built_dense(self, "output", hidden_states_shape[-1], (None, None, self.widths[2]))

    def call(
        self, hidden_states, *, positions=None, padding_mask=None, cache=None, cache_positions=None, in_place=False,
        return_cache=None, mask=None
    ):  # fmt: skip
        real, lengths = real_tokens(self, hidden_states, padding_mask, cache, cache_positions, mask)
        length, state = length_of(hidden_states), cache or {}
        flat = without_length(only_real(ops.cast(hidden_states, self.compute_dtype), real))  # (B * T, D)
        inputs = only_real(with_length(self.inputs_dense(flat), length), real)
        inputs, state_inputs = self.filter(inputs, positions, lengths, state.get("state_inputs"))
        heads = self._heads(silu(inputs), flat, length, real)
        memory, starts = state.get("state_memory"), None
        if memory is None:
            memory = ops.zeros((ops.shape(hidden_states)[0], self.num_heads, self.key_dim, self.value_dim))
            starts = None if positions is None else self._starts(hidden_states, positions, real)

        is_step = state and hidden_states.shape[1] == 1
        outputs, memory = step(heads, memory) if is_step else chunked(heads, memory, starts)  # (B, N, T, V)
        gates = ops.reshape(silu(ops.cast(self.gate(flat), "float32")), (-1, length, self.num_heads, self.value_dim))
        normed = self.norm(ops.cast(ops.swapaxes(outputs, 1, 2), self.compute_dtype))  # (B, T, N, V)
        gated = ops.cast(ops.cast(normed, "float32") * gates, self.compute_dtype)
        output = self.output_dense(ops.reshape(gated, (-1, self.widths[2])))
        new = {"state_inputs": state_inputs, "state_memory": memory}
        return requested(self, cache, return_cache).outputs(with_length(output, length), new)

    def _heads(self, inputs: Tensor, flat: Tensor, length: Any, real: Tensor | None) -> Heads:
        """Return the vectors of all heads from the outputs of the convolution; padding changes no memory."""
        keys, _, _ = self.widths
        query, key, value = ops.split(ops.cast(inputs, "float32"), [keys, 2 * keys], axis=-1)
        query, key = (self._unit(x, length) for x in (query, key))  # (B, N, T, H)
        value = ops.swapaxes(ops.reshape(value, (-1, length, self.num_heads, self.value_dim)), 1, 2)
        rate, decay = (with_length(ops.cast(dense(flat), "float32"), length) for dense in (self.rate, self.decay))
        rate, decay = ops.sigmoid(rate), -ops.exp(self.decay_log) * ops.softplus(decay + self.decay_bias)
        rate, decay = (ops.swapaxes(only_real(x, real), 1, 2) for x in (rate, decay))  # (B, N, T)
        return Heads(query * self.key_dim**-0.5, key, value, decay, rate)

    def _unit(self, x: Tensor, length: Any) -> Tensor:
        """Return heads (B, N, T, H) of unit length from (B, T, K * H)."""
        x = ops.reshape(x, (-1, length, self.num_key_heads, self.key_dim))
        x = x * ops.rsqrt(ops.sum(ops.square(x), axis=-1, keepdims=True) + TINY)
        return ops.swapaxes(ops.repeat(x, self.num_heads // self.num_key_heads, axis=2), 1, 2)

    def _starts(self, hidden_states: Tensor, positions: Any, real: Tensor | None) -> Tensor:
        """Return where a text begins, boolean (B, T); padding belongs to the text before it."""
        starts = ops.equal(ops.cast(positions, "int32"), 0)
        starts = ops.broadcast_to(starts, ops.shape(hidden_states)[:2])
        return starts if real is None else ops.logical_and(starts, real)

    def part_shapes(self, width: int) -> dict[str, tuple]:
        """Return the shapes of the parts of the cache; None for the batch."""
        inputs = (None, self.kernel_size - 1, sum(self.widths))
        return {"state_inputs": inputs, "state_memory": (None, self.num_heads, self.key_dim, self.value_dim)}

    def compute_output_spec(self, hidden_states, *, cache=None, return_cache=None, **inputs):
        check_vectors(hidden_states=hidden_states)
        output = keras.KerasTensor(hidden_states.shape, dtype=self.compute_dtype)
        dtypes = {"state_inputs": self.compute_dtype, "state_memory": "float32"}
        parts = self.part_shapes(hidden_states.shape[-1]).items()
        state = {
            name: keras.KerasTensor((hidden_states.shape[0], *shape[1:]), dtype=dtypes[name]) for name, shape in parts
        }
        return requested(self, cache, return_cache).outputs(output, state)


def _initial_decays(shape: tuple, dtype: Any = None) -> Tensor:
    """Return logarithms of uniform rates of forgetting, away from 0."""
    return ops.log(keras.random.uniform(shape, 0.01, LARGEST_DECAY, dtype=dtype))
