"""Recurrent layers in place of self-attention: Keras' cells, whose states are reset at each text."""

from __future__ import annotations

from collections.abc import Sequence
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

# Keras' cell of each kind, and the names of its states in the cache: the output and, for an LSTM, the cell state.
CELLS: dict[str, tuple[type, tuple[str, ...]]] = {
    "simple_rnn": (keras.layers.SimpleRNNCell, ("key",)),
    "gru": (keras.layers.GRUCell, ("key",)),
    "lstm": (keras.layers.LSTMCell, ("key", "value")),
}


@keras.saving.register_keras_serializable("keras_transformers")
class RestartingCell(keras.layers.Layer):
    """A Keras cell whose states are reset at given steps, and which returns all its states.

    Args:
        cell: The cell.
        carries_first: Whether initial states are given: they are carried along as further states. If not, they are
            zeros.

    Call arguments:
        inputs: (B, D + 1), whose last column is 0 at the beginning of a text, otherwise 1; or (B, D + 2), with another
            column that is 0 for steps that keep the states. Keras' own masks, on JAX, need an output that is the first
            state.
        states: The cell's states, each (B, U), and the initial states if they are carried along.

    Returns:
        The cell's new states, concatenated (B, n * U), and the states for the next call.
    """

    def __init__(self, cell: keras.layers.Layer, carries_first: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        self.cell, self.carries_first = cell, carries_first
        sizes = cell.state_size if isinstance(cell.state_size, (list, tuple)) else [cell.state_size]
        self.number, self.output_size = len(sizes), sum(sizes)
        self.state_size = [*sizes, *(sizes if carries_first else ())]

    def build(self, inputs_shape):
        self.width = inputs_shape[-1] - 1  # D
        self.cell.build((*inputs_shape[:-1], self.width))

    def call(self, inputs, states):
        x, goes_on = inputs[:, : self.width], inputs[:, self.width : self.width + 1] > 0  # (B, D), (B, 1)
        states, first = list(states[: self.number]), list(states[self.number :])
        begin = first or [ops.zeros_like(state) for state in states]
        states = [ops.where(goes_on, *pair) for pair in zip(states, begin, strict=True)]  # (B, U)
        before, (_, states) = states, self.cell(x, states)
        if inputs.shape[-1] > self.width + 1:
            is_there = inputs[:, -1:] > 0  # (B, 1)
            states = [ops.where(is_there, *pair) for pair in zip(states, before, strict=True)]  # (B, U)
        return ops.concatenate(states, axis=-1), [*states, *first]


@keras.saving.register_keras_serializable("keras_transformers")
class Recurrence(ReturnsCache, DenseOwner):
    """A recurrent layer with the call arguments of self-attention: in one or both directions, with a cache for
    decoding.

    The cache holds the states after each token: `key` is the output and, for an LSTM, `value` the cell state. A step
    reads them at the position before its token.
    Papers: Elman 1990, https://doi.org/10.1207/s15516709cog1402_1; LSTM, Hochreiter and Schmidhuber 1997,
    https://doi.org/10.1162/neco.1997.9.8.1735; GRU, Cho et al. 2014, https://arxiv.org/abs/1406.1078; the dense layer
    after it, Sak et al. 2014, https://arxiv.org/abs/1402.1128.

    Args:
        kind: `"simple_rnn"`, `"gru"` or `"lstm"`.
        units: Width of the states, U, both directions together. If U is not D, a dense layer projects back to D.
        bidirectional: Whether a second layer reads the text backwards.
        carries_first: Whether a decoder's initial states are given.
        activation: Name of the Keras activation of the states.
        use_bias, initializer_range, output_initializer_range: As in `Attention`; the weights from state to state are
            orthogonal.
        return_cache: As in `Attention`.
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint:
            For the inputs' weights and the dense layer, as in `Attention`.

    Call arguments:
        hidden_states: (B, T, D).
        positions: Integer (1|B, T), position of each token in its text, from 0. When None, `attention_mask` is used.
        attention_mask: Boolean (B, 1, T), True where a token is real; padding is at the end. All are real when None.
        padding_mask: (B, T), non-zero where a token is real; padding may be anywhere, and does not change the states.
            The mask that Keras carries with `hidden_states` when both are None.
        first: With `carries_first`, the initial states by their names in the cache, each (B, U).
        cache: `{"key"}`, for an LSTM `{"key", "value"}`, each (B, 1, S, U), with `cache_positions`.
        cache_positions: Integer (B, T), successive in each row.
        in_place, return_cache: As in `Attention`.
        mask: (B, T), Keras' mask of `hidden_states`: the `padding_mask` if no mask is given.

    Returns:
        The output (B, T, D), or a pair of it and the cache, as in `Attention`; without `positions` the cache is empty.

    Raises:
        ValueError: The kind is unknown, or `units` is odd in a bidirectional layer.

    Example:

    >>> layer, positions = Recurrence("gru", units=6), np.arange(3)[None]
    >>> output, cache = layer(np.ones((1, 3, 4)), positions=positions, return_cache=True)
    >>> tuple(output.shape), tuple(cache["key"].shape)
    ((1, 3, 4), (1, 1, 3, 6))
    """

    def __init__(
        self,
        kind: str,
        units: int,
        bidirectional: bool = False,
        carries_first: bool = False,
        activation: Any = "tanh",
        use_bias: bool = True,
        initializer_range: float | str | None = None,
        output_initializer_range: float | None = None,
        return_cache: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(units=units)
        self.supports_masking, self.return_cache = True, return_cache
        if kind not in CELLS:
            raise ValueError(f"kind must be one of {tuple(CELLS)}: received {kind!r}.")
        if bidirectional and units % 2:
            raise ValueError(f"units of a bidirectional layer must be an even number: received {units!r}.")
        self.kind, self.units, self.bidirectional, self.carries_first = kind, units, bidirectional, carries_first
        self.activation, self.use_bias = activation, use_bias
        self.initializer_range, self.output_initializer_range = initializer_range, output_initializer_range
        ways = ("forward", "backward") if bidirectional else ("forward",)
        self.forward, *others = [self._layer(name, units // len(ways)) for name in ways]
        self.backward = others[0] if others else None

    def _layer(self, name: str, units: int) -> keras.layers.RNN:
        dtype, initializer = self.dtype_policy.name, dense_initializer(self.initializer_range)
        options = {"use_bias": self.use_bias, "kernel_initializer": initializer, **dense_options(self)}
        options["activation"] = find_activation(self.activation)
        cell = CELLS[self.kind][0](units, dtype=dtype, name="cell", **options)
        restarting = RestartingCell(cell, self.carries_first, dtype=dtype, name="restarting")
        return keras.layers.RNN(restarting, return_sequences=True, dtype=dtype, name=name)

    def build(self, hidden_states_shape):
        check_shape(hidden_states_shape)
        self.expect_width(hidden_states_shape)
        width = hidden_states_shape[-1]
        for layer in (self.forward, self.backward):
            if layer is not None:
                layer.build((*hidden_states_shape[:-1], width + 1))
        is_as_wide = self.units == width
        self.output_dense = None if is_as_wide else built_dense(self, "output", width, (None, None, self.units))

    def call(
        self,
        hidden_states,
        *,
        positions=None,
        attention_mask=None,
        padding_mask=None,
        first=None,
        cache=None,
        cache_positions=None,
        in_place=False,
        return_cache=None,
        mask=None,
    ):
        check_vectors(hidden_states=hidden_states)
        sizes = dict.fromkeys(self.parts, self.part_shape(hidden_states.shape))
        check_cache(cache, sizes, cache_positions, hidden_states.shape[:2])
        wanted, new = requested(self, cache, return_cache), {}
        if padding_mask is None and attention_mask is None:
            padding_mask = carried(self, hidden_states, mask)
        attention_mask, mask = key_mask(hidden_states, attention_mask, padding_mask), None  # (B, 1, T)
        if padding_mask is not None:
            mask, attention_mask = attention_mask[:, 0], None  # (B, T)
        positions = cache_positions if positions is None else positions
        if positions is None:
            outputs = self._both_ways(hidden_states, attention_mask, mask)  # (B, T, U)
        else:
            first = [first[name] for name in self.parts] if first else []
            begin = self._begin(hidden_states, first, cache, cache_positions)
            states = self._run(self.forward, hidden_states, positions > 0, [*begin, *first], mask)
            outputs = states[0]  # (B, T, U)
            new = {name: ops.expand_dims(part, 1) for name, part in zip(self.parts, states, strict=True)}
            new = new if cache is None else write_cache(new, cache, cache_positions, in_place)  # (B, 1, S, U)
        if self.output_dense is not None:
            outputs = with_length(self.output_dense(without_length(outputs)), length_of(hidden_states))  # (B, T, D)
        return wanted.outputs(outputs, new)

    def part_shape(self, hidden_states_shape: tuple) -> tuple:
        """Return the shape of a part of the cache for hidden states (B, T, D): (B, 1, None, U)."""
        return hidden_states_shape[0], 1, None, self.units

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the states in the cache."""
        return CELLS[self.kind][1]

    def _begin(self, hidden_states, first, cache, cache_positions) -> list:
        """Return the states before the first token, each (B, U)."""
        if cache is not None:
            before = ops.maximum(cache_positions[:, :1] - 1, 0)  # (B, 1); a text's first token resets the states
            return [read_cache(cache[name], before)[:, 0] for name in self.parts]
        return first or self._zeros(hidden_states, self.units)

    def _zeros(self, hidden_states, units: int) -> list:
        return [ops.zeros((ops.shape(hidden_states)[0], units), self.compute_dtype) for _ in self.parts]

    def _both_ways(self, hidden_states, attention_mask, mask):
        """Return the outputs of an encoder, both directions concatenated: (B, T, U)."""
        if attention_mask is None:
            attention_mask = ops.ones((ops.shape(hidden_states)[0], 1, length_of(hidden_states)), "bool")  # (B, 1, T)
        real = attention_mask[:, 0]  # (B, T)
        begin = self._zeros(hidden_states, self.units // (2 if self.bidirectional else 1))
        outputs = self._run(self.forward, hidden_states, ops.ones_like(real), begin, mask)[0]
        if self.backward is None:
            return outputs
        # Backwards, padding comes first, and the text begins after it.
        next_is_real = ops.pad(real[:, 1:], [(0, 0), (0, 1)])  # (B, T)
        hidden_states, next_is_real = (ops.flip(tensor, axis=1) for tensor in (hidden_states, next_is_real))
        mask = None if mask is None else ops.flip(mask, axis=1)  # (B, T)
        backward = ops.flip(self._run(self.backward, hidden_states, next_is_real, begin, mask)[0], axis=1)
        return ops.concatenate([outputs, backward], axis=-1)

    def _run(self, layer: keras.layers.RNN, hidden_states, goes_on, states: Sequence, mask) -> list:
        """Return the states after each token, each (B, T, U).

        States are reset where `goes_on` (1|B, T) is False, and kept where `mask` (B, T) is False.
        """
        columns = [ops.cast(ops.expand_dims(x, -1), hidden_states.dtype) for x in (goes_on, mask) if x is not None]
        columns = [ops.broadcast_to(x, (*ops.shape(hidden_states)[:2], 1)) for x in columns]  # (B, T, 1)
        inputs = ops.concatenate([hidden_states, *columns], axis=-1)  # (B, T, D + 1|2)
        return ops.split(layer(inputs, initial_state=list(states)), len(self.parts), axis=-1)

    def compute_output_spec(self, hidden_states, *, positions=None, cache=None, return_cache=None, **inputs):
        check_vectors(hidden_states=hidden_states)
        output = keras.KerasTensor(hidden_states.shape, dtype=self.compute_dtype)
        shape = (hidden_states.shape[0], 1, hidden_states.shape[1], self.units)
        shapes = {name: shape if cache is None else cache[name].shape for name in self.parts if positions is not None}
        new = {name: keras.KerasTensor(size, dtype=self.compute_dtype) for name, size in shapes.items()}
        return requested(self, cache, return_cache).outputs(output, new)
