"""From hidden states to logits, fast: a transposed copy of a tied output matrix."""

from __future__ import annotations

import keras
import tensorflow as tf

from keras_transformers.config import TransformerConfig


class Projection:
    """Multiplies hidden states (B, D) with the output matrix.

    A tied matrix is the token embedding, (V, D). For a few rows the product with a transposed copy is up to three
    times faster, so that copy is kept, in the dtype of the model: 154 MB more for GPT-2 in float32.

    Args:
        config: Of the model.
        model: A model with a `language_model_head`.

    Attributes:
        matrix: A variable (D, V).
    """

    def __init__(self, config: TransformerConfig, model: keras.Model):
        self.table = None
        self.factor = config.hidden_dim**-0.5 if config.scale_outputs else 1.0
        self.bias = model.get_layer("output_bias").bias.value if config.output_bias else None
        if not config.tie_embeddings:
            self.matrix = model.get_layer("lm_head").kernel.value
            return
        layer = model.get_layer("token_embedding")
        self.table = layer.embeddings.value
        self.matrix = tf.Variable(self._transposed(layer.compute_dtype), trainable=False, name="output_matrix")
        self.probe = tf.random.stateless_normal((self.table.shape[1], 1), (1, 2), dtype=self.table.dtype)
        self.seen = tf.Variable(self._fingerprint(), trainable=False)

    def __call__(self, hidden_states: tf.Tensor) -> tf.Tensor:
        logits = tf.matmul(self.factor * hidden_states, tf.cast(self.matrix, hidden_states.dtype))
        return logits if self.bias is None else logits + tf.cast(self.bias, logits.dtype)

    def refresh(self) -> None:
        """Make the copy anew if the embedding has changed since, by training for instance."""
        if self.table is not None and not tf.reduce_all(self._fingerprint() == self.seen):
            self.matrix.assign(self._transposed(self.matrix.dtype))
            self.seen.assign(self._fingerprint())

    def _transposed(self, dtype: str) -> tf.Tensor:
        return tf.cast(tf.transpose(self.table), dtype)

    def _fingerprint(self) -> tf.Tensor:
        """One number a row; reading the table once is much faster than transposing it."""
        return tf.matmul(self.table, self.probe)
