"""Fast logits for a step of generation: a tied output matrix, transposed where that is faster."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.heads.language_model import head_of, logits_of, transform_of
from keras_transformers.layers.core.int8_weights import int8_matrix
from keras_transformers.utils.fingerprint import fingerprint

HALF = ("bfloat16", "float16")


class OutputMatrix:
    """The language model's head for the few rows of a step.

    A tied matrix is the token embedding, (V, D). In float32 the product of a few rows with a transposed copy is up to
    three times faster, so that copy is kept, in the dtype that the model computes in: 154 MB more for GPT-2. A table in
    half precision is used as it is: the product with the copy would take twice the time (one core with AVX-512 BF16,
    Qwen3-0.6B's table and one row: 188 ms, 78 without it), and the copy 311 MB there.

    Args:
        config: Configuration of the model.
        model: A model with a `language_model_head`.

    Attributes:
        matrix: A variable (D, V); the table, (V, D), where there is no copy; None where the head has rounded weights.
    """

    def __init__(self, config: TransformerConfig, model: keras.Model):
        self.config = config
        self.add_bias = model.get_layer("output_bias") if config.output_bias else None
        self.transform = transform_of(config, model)
        self.table, self.is_table = None, False  # (V, D), where it is copied
        self.rounded_head: Any = None
        self.matrix: Any = None
        if int8_matrix(model.get_layer("token_embedding" if config.tie_embeddings else "lm_head")) is not None:
            self.rounded_head = head_of(config, model)
            return
        if not config.tie_embeddings:
            self.matrix = model.get_layer("lm_head").kernel.value
            return
        layer = model.get_layer("token_embedding")
        if layer.embeddings.dtype in HALF:
            self.matrix, self.is_table = layer.embeddings.value, True
            return
        self.table = layer.embeddings.value
        self.matrix = tf.Variable(self._transposed(layer.compute_dtype), trainable=False, name="output_matrix")
        self.fingerprint = tf.Variable(fingerprint(self.table), trainable=False)  # (V,)

    def __call__(self, hidden_states: tf.Tensor) -> tf.Tensor:
        """Return the logits (B, V) of hidden states (B, D)."""
        if self.rounded_head is not None:
            return self.rounded_head(hidden_states)
        return logits_of(self.config, self.transform(hidden_states), self._project, self.add_bias)

    def _project(self, hidden_states: tf.Tensor) -> tf.Tensor:
        matrix = tf.cast(self.matrix, hidden_states.dtype)
        if self.is_table:
            return tf.transpose(tf.matmul(matrix, hidden_states, transpose_b=True))  # faster than of a few long rows
        return tf.matmul(hidden_states, matrix)

    def refresh(self) -> None:
        """Renew the copy if the embedding has changed since, for instance by training."""
        if self.table is not None and not tf.reduce_all(fingerprint(self.table) == self.fingerprint):
            self.matrix.assign(self._transposed(self.matrix.dtype))
            self.fingerprint.assign(fingerprint(self.table))

    def _transposed(self, dtype: str) -> tf.Tensor:
        return tf.cast(tf.transpose(self.table), dtype)
