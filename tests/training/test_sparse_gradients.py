"""Embeddings have sparse gradients on TensorFlow, in which one row may stand several times."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.layers import LearnedPositions, TokenEmbedding
from keras_transformers.training.optimizers.adamw import AdamW


def test_a_token_that_stands_twice_counts_twice_in_the_norm():
    table = keras.Variable(np.zeros((3, 1), "float32"))
    gradient = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([1, 1]), tf.constant([3, 1]))
    optimizer = AdamW(0.1, 0.0, clip_norm=0.7, beta_1=0.0)
    optimizer.apply([gradient], [table])
    assert float(optimizer._momentums[0].numpy()[1, 0]) == pytest.approx(0.7)  # 7, clipped; apart, sqrt(9 + 16) = 5


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_tables_of_many_rows_have_sparse_gradients(dtype):
    """Slices of float32: their sum would lose digits in half precision."""
    ids = np.array([[1, 2, 1]])
    embedding, positions = TokenEmbedding(9, 4, dtype=dtype), LearnedPositions(9, dtype=dtype)
    with tf.GradientTape() as tape:
        output = positions(embedding(ids, training=True), positions=ids)
    tables = [embedding.embeddings.value, positions.embeddings.value]
    for gradient in tape.gradient(output, tables):
        assert isinstance(gradient, tf.IndexedSlices)
        assert gradient.dtype == tf.float32
        assert gradient.values.shape[0] == 3
