"""Token embeddings, and the output projection tied to them."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.core.int8_weights import int8_matrix
from keras_transformers.layers.core.table_rows import TableOwner, add_table, take_rows
from keras_transformers.layers.interface.input_checks import (
    check_dense,
    check_numbers_of_rows,
    check_sizes,
    format_shape,
)
from keras_transformers.utils.keras_private import with_mask


@keras.saving.register_keras_serializable("keras_transformers")
class TokenEmbedding(TableOwner):
    """Sum of token and segment embeddings; with `reverse=True`, the tied output projection.

    Tied weights: Press & Wolf 2016, https://arxiv.org/abs/1608.05859.

    Args:
        vocabulary_size: V.
        hidden_dim: D.
        num_segments: Rows of the segment table; 0 for none.
        scale: Whether embeddings are multiplied by sqrt(D), as in the original Transformer (not the projection); or
            another factor, a number.
        initializer_range: Standard deviation of the truncated normal initialiser; None for Glorot uniform.
        mask_zero: Whether token 0 is padding: the embeddings then carry a mask, as in `keras.layers.Embedding`.
        embeddings_initializer, embeddings_regularizer, embeddings_constraint: Options of the tables, as in
            `keras.layers.Embedding`. An initialiser replaces the range.

    Call arguments:
        inputs: Integer token ids (B, T), or with `reverse=True` hidden states (..., D).
        segment_ids: Integer (B, T); segment 0 everywhere when None.
        reverse: Whether to project hidden states on the vocabulary.

    Returns:
        (B, T, D), or with `reverse=True` logits (..., V).

    Raises:
        ValueError: `segment_ids` are given to a layer without segments, or an id is not in its table. In a graph, where
            values are unknown, TensorFlow refuses such an id on a CPU and takes zeros on a GPU; JAX takes NaN.

    Example:

    >>> embedding = TokenEmbedding(vocabulary_size=10, hidden_dim=4)
    >>> hidden_states = embedding(np.array([[1, 2, 3]]))
    >>> tuple(hidden_states.shape), tuple(embedding(hidden_states, reverse=True).shape)
    ((1, 3, 4), (1, 3, 10))
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int,
        num_segments: int = 0,
        scale: bool | float = False,
        initializer_range: float | str | None = 0.02,
        mask_zero: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_sizes(vocabulary_size=vocabulary_size, hidden_dim=hidden_dim, num_segments=num_segments or None)
        self.mask_zero = mask_zero
        self.supports_masking = True
        self.autocast = False  # ids may be floating-point numbers, keras.Input's default
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.num_segments = num_segments
        self.scale = scale
        self.initializer_range = initializer_range

    def build(self, inputs_shape, segment_ids_shape=None):
        self.embeddings = add_table(self, self.vocabulary_size, self.hidden_dim, "embeddings")
        self.segment_embeddings = None
        if self.num_segments:
            self.segment_embeddings = add_table(self, self.num_segments, self.hidden_dim, "segment_embeddings")

    def call(self, inputs, segment_ids=None, reverse=False, training=None):
        table = int8_matrix(self)
        if reverse:
            self._check_width(inputs)
            inputs = ops.cast(inputs, self.compute_dtype)
            if table is not None:
                return table.product(inputs)
            return ops.matmul(inputs, ops.transpose(ops.cast(self.embeddings, inputs.dtype)))
        check_dense(inputs, "token ids")
        remedy = "Make the embedding with the vocabulary_size of the tokenizer."
        check_numbers_of_rows(inputs, self.vocabulary_size, "token ids", remedy)
        if table is not None:
            embeddings = table.rows(ops.cast(inputs, "int32"), self.compute_dtype)  # (B, T, D)
        else:
            embeddings = take_rows(self.embeddings, inputs, self.compute_dtype)  # (B, T, D)
        if self.scale:
            factor = math.sqrt(self.hidden_dim) if self.scale is True else self.scale
            embeddings = embeddings * ops.cast(factor, embeddings.dtype)
        if segment_ids is not None and not self.num_segments:
            raise ValueError("segment_ids were given, but this embedding has num_segments=0: leave them out.")
        if not self.num_segments:
            return self._masked(embeddings, inputs)
        segment_ids = ops.zeros_like(inputs) if segment_ids is None else segment_ids
        check_numbers_of_rows(segment_ids, self.num_segments, "segment ids", "Raise num_segments.")
        embeddings += take_rows(self.segment_embeddings, segment_ids, self.compute_dtype, training)
        return self._masked(embeddings, inputs)

    def _masked(self, embeddings, token_ids):
        """Attach the mask to embeddings here, as `compute_mask` does not know `reverse` and ids may be floating-point
        numbers.
        """
        return with_mask(embeddings, ops.not_equal(token_ids, 0) if self.mask_zero else None)

    def compute_mask(self, inputs, previous_mask=None):
        is_ids = keras.backend.is_int_dtype(keras.backend.standardize_dtype(inputs.dtype))
        return ops.not_equal(inputs, 0) if self.mask_zero and is_ids else previous_mask

    def _check_width(self, hidden_states):
        if hidden_states.shape[-1] != self.hidden_dim:
            raise ValueError(
                f"reverse=True takes hidden states (..., {self.hidden_dim}): received "
                f"{format_shape(hidden_states.shape)}."
            )

    def compute_output_spec(self, inputs, segment_ids=None, reverse=False, training=None):
        if reverse:
            self._check_width(inputs)
            return keras.KerasTensor((*inputs.shape[:-1], self.vocabulary_size), dtype=self.compute_dtype)
        return self._masked(keras.KerasTensor((*inputs.shape, self.hidden_dim), dtype=self.compute_dtype), inputs)
