"""Absolute positions, added to the token embeddings."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.config.choices import POSITION_LAYOUTS, first_position
from keras_transformers.layers.core.table_rows import TableOwner, add_rows, add_table, take_rows
from keras_transformers.layers.interface.input_checks import (
    as_array,
    check_integers,
    check_numbers_of_rows,
    check_shape,
    check_sizes,
    check_vectors,
    format_shape,
)
from keras_transformers.layers.interface.layer_options import Layer, Positional
from keras_transformers.utils.tensor_types import may_be_equal

FIRST = {"fairseq": first_position(), "opennmt": 1}  # OpenNMT-tf numbers from 1


@keras.saving.register_keras_serializable("keras_transformers")
class PositionIds(Positional):
    """A layer that numbers an axis of a tensor, 0, 1, 2, ...: positions for rotary, relative and causal layers.

    Args:
        axis: The axis of length T to count along.

    Call arguments:
        inputs: Tensor of any dtype.

    Returns:
        int32 (1, T).

    Example:

    >>> PositionIds()(np.array([[7, 7, 7], [7, 7, 7]])).numpy().tolist()
    [[0, 1, 2]]
    """

    def __init__(self, axis: int = 1, **kwargs: Any):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs):
        return ops.expand_dims(ops.arange(ops.shape(inputs)[self.axis], dtype="int32"), 0)

    def compute_output_spec(self, inputs):
        return keras.KerasTensor((1, inputs.shape[self.axis]), dtype="int32")


@keras.saving.register_keras_serializable("keras_transformers")
class DocumentPositions(Positional):
    """A layer that returns the position of each token in its text, if a row may hold several texts.

    Call arguments:
        documents: Integer (B, T): the text of each token, from 1; 0 for padding. The tokens of a text are successive.

    Returns:
        int32 (B, T), from 0; 0 for padding.

    Example:

    >>> DocumentPositions()(np.array([[1, 1, 2, 0]])).numpy().tolist()
    [[0, 1, 0, 0]]
    """

    def call(self, documents):
        rows, length = ops.shape(documents)
        columns = ops.arange(length, dtype="int32")[None]  # (1, T)
        is_first = ops.not_equal(documents, ops.pad(documents, [[0, 0], [1, 0]])[:, :-1])  # (B, T), of its text
        texts = ops.cumsum(ops.cast(is_first, "int32"), axis=1)  # (B, T), 0 for padding in front
        texts = texts + ops.arange(rows, dtype="int32")[:, None] * (length + 1)  # (B, T), other numbers in each row

        starts = ops.where(is_first, columns, 0)  # (B, T)
        starts = ops.segment_sum(ops.ravel(starts), ops.ravel(texts), rows * (length + 1))  # (B * (T + 1),), of texts
        return ops.where(ops.equal(documents, 0), 0, columns - ops.take(starts, texts))  # (B, T)

    def compute_output_spec(self, documents):
        return keras.KerasTensor(documents.shape, dtype="int32")


@keras.saving.register_keras_serializable("keras_transformers")
class TokenPositions(Positional):
    """A layer that returns each token's row of a position table; padding does not count, as in fairseq and RoBERTa.

    Args:
        pad_id: Token id of padding, wherever it is.
        offset: Row of the first token; padding takes the row before it.

    Call arguments:
        token_ids: Integer (B, T).

    Returns:
        int32 (B, T).

    Example:

    >>> TokenPositions(pad_id=1, offset=2)(np.array([[0, 5, 6, 2, 1]])).numpy().tolist()
    [[2, 3, 4, 5, 1]]
    """

    def __init__(self, pad_id: int, offset: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.pad_id = pad_id
        self.offset = offset

    def call(self, token_ids):
        is_real = ops.cast(ops.not_equal(token_ids, self.pad_id), "int32")  # (B, T)
        return ops.cumsum(is_real, axis=1) * is_real + (self.offset - 1)  # (B, T)

    def compute_output_spec(self, token_ids):
        return keras.KerasTensor(token_ids.shape, dtype="int32")


@keras.saving.register_keras_serializable("keras_transformers")
class LearnedPositions(TableOwner):
    """A layer that adds one learned vector per position.

    Papers: Gehring et al. 2017, https://arxiv.org/abs/1705.03122; BERT, https://arxiv.org/abs/1810.04805.

    Args:
        max_length: Rows of the table.
        initializer_range: Standard deviation of the truncated normal initialiser; None for Glorot uniform.
        embeddings_initializer, embeddings_regularizer, embeddings_constraint: As in `TokenEmbedding`.

    Call arguments:
        hidden_states: (B, T, D), T at most `max_length`.
        positions: Integer (1|B, T), each below `max_length`; 0, 1, 2, ... when None.

    Returns:
        (B, T, D).

    Raises:
        ValueError: The sequence is longer than `max_length`, or a position is no row of the table, as far as known.

    Example:

    >>> tuple(LearnedPositions(max_length=8)(np.zeros((2, 3, 4))).shape)
    (2, 3, 4)
    """

    def __init__(self, max_length: int, initializer_range: float | str | None = 0.02, **kwargs: Any):
        super().__init__(**kwargs)
        check_sizes(max_length=max_length)
        self.supports_masking = True
        self.max_length = max_length
        self.initializer_range = initializer_range

    def build(self, hidden_states_shape):
        check_shape(hidden_states_shape)
        self.expect_width(hidden_states_shape)
        self.embeddings = add_table(self, self.max_length, hidden_states_shape[-1], "embeddings")

    def call(self, hidden_states, positions=None):
        positions = _checked(hidden_states, positions)
        length, table = ops.shape(hidden_states)[1], ops.convert_to_tensor(self.embeddings)
        self._check_length(length)
        if positions is None:
            if isinstance(length, int) or ops.is_tensor(length):
                return add_rows(hidden_states, table[:length])
            positions = ops.arange(length)[None]  # (1, T): JAX infers shapes with lengths that cannot end a slice
        check_numbers_of_rows(positions, self.max_length, "positions", "Build the layer with a larger max_length.")
        return add_rows(hidden_states, take_rows(table, positions, table.dtype))

    def _check_length(self, length):
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(
                f"the sequence has {length} tokens and the position table {self.max_length} rows: cut the text "
                "(max_length=... of the tokenizer), or build the model with a larger max_length."
            )

    def compute_output_spec(self, hidden_states, positions=None):
        positions = _checked(hidden_states, positions)
        self._check_length(hidden_states.shape[1])
        return keras.KerasTensor(hidden_states.shape, dtype=hidden_states.dtype)


@keras.saving.register_keras_serializable("keras_transformers")
class SinusoidalPositions(Layer):
    """A layer that adds sines and cosines of the position, in geometrically spaced wavelengths.

    Nothing is learned, so any length works. Paper: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762.

    Args:
        layout: `"interleaved"`, the paper's (sine in even units, cosine in odd ones); `"halves"`, Marian's (all sines,
            then all cosines) of the same frequencies; `"fairseq"` or `"opennmt"`: halves whose last frequency is
            `1 / max_wavelength`, as in tensor2tensor, of positions that count from 2 or from 1.
        max_wavelength: The paper's 10,000.

    Call arguments:
        hidden_states: (B, T, D), D even.
        positions: Integer (1|B, T); 0, 1, 2, ... when None.

    Returns:
        (B, T, D).

    Raises:
        ValueError: The layout is unknown, or D is odd.

    Example:

    >>> SinusoidalPositions()(np.zeros((1, 1, 4))).numpy().tolist()
    [[[0.0, 1.0, 0.0, 1.0]]]
    """

    def __init__(self, layout: str = "interleaved", max_wavelength: float = 10000.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True
        if layout not in POSITION_LAYOUTS:
            raise ValueError(f"layout must be one of {POSITION_LAYOUTS}: received {layout!r}.")
        self.layout = layout
        self.max_wavelength = max_wavelength

    def build(self, hidden_states_shape):
        check_shape(hidden_states_shape)
        if hidden_states_shape[-1] % 2:
            raise ValueError(f"sinusoidal positions need an even width: received {hidden_states_shape[-1]}.")

    def call(self, hidden_states, positions=None):
        positions = _checked(hidden_states, positions)
        width = hidden_states.shape[-1]
        if positions is None:
            positions = ops.expand_dims(ops.arange(ops.shape(hidden_states)[1]), 0)
        positions = positions + FIRST.get(self.layout, 0)
        angles = ops.expand_dims(ops.cast(positions, "float32"), -1) * self._frequencies(width)
        waves = [ops.sin(angles), ops.cos(angles)]
        if self.layout != "interleaved":
            encoding = ops.concatenate(waves, axis=-1)
        else:
            encoding = ops.reshape(ops.stack(waves, axis=-1), (*ops.shape(positions), width))
        return hidden_states + ops.cast(encoding, hidden_states.dtype)

    def _frequencies(self, width: int) -> np.ndarray:
        # float64 on the host: float32 powers lose digits that show at positions in the thousands.
        steps = width // 2 - (self.layout in FIRST)
        return np.power(float(self.max_wavelength), -np.arange(width // 2) / max(steps, 1)).astype("float32")

    def compute_output_spec(self, hidden_states, positions=None):
        positions = _checked(hidden_states, positions)
        return keras.KerasTensor(hidden_states.shape, dtype=hidden_states.dtype)


def _checked(hidden_states, positions):
    """Check hidden states (B, T, D) and positions (1|B, T), which may be a list; return the positions."""
    check_vectors(hidden_states=hidden_states)
    positions = as_array(positions)
    check_integers(positions=positions)
    batch, length, _ = hidden_states.shape
    if positions is not None and not any(may_be_equal(tuple(positions.shape), (rows, length)) for rows in (1, batch)):
        raise ValueError(
            f"positions must be (1 or batch, length), {format_shape((batch, length))} here: received "
            f"{format_shape(tuple(positions.shape))}."
        )
    return positions
