"""Reading rows of learned tables, with gradients that are summed in the precision of the table."""

from __future__ import annotations

import keras
from keras import ops

from keras_transformers.layers.core.custom_gradient import custom_gradient
from keras_transformers.layers.core.dense import dense_initializer
from keras_transformers.layers.interface.layer_options import Layer, fresh
from keras_transformers.utils.tensor_types import Tensor

# Up to so many rows the gradient is a product. Forward and backward of 32 x 128 tokens of width 768, ms of one CPU core
# in float32 and bfloat16: 2 rows, TensorFlow 3.6 and 4.1 by a product, 5.6 and 7.4 by a scatter, JAX 3.2 and 3.2, 3.7
# and 2.3; 32 rows, TensorFlow 5.3 and 5.8, 6.1 and 7.6, JAX 5.2 and 5.4, 3.2 and 2.7. With 2 rows all tokens of a batch
# scatter to the same addresses, which is what costs on a GPU.
FEW_ROWS = 8


class TableOwner(Layer):
    """A layer with learned tables, which takes Keras' options of an embedding for them."""

    extra_options = ("embeddings_initializer", "embeddings_regularizer", "embeddings_constraint")


def add_table(layer: TableOwner, rows: int, width: int, name: str) -> keras.Variable:
    """Add the weight (rows, width) of a layer that reads rows of it.

    Its initialiser is the layer's `embeddings_initializer` or, if none was given, that of `initializer_range`.

    It is not cast before it is read: the gradient would be a scatter in half precision, which loses most digits where
    many tokens have one row (4,096 gradients near 1 sum up to 512), and takes 30 of 48 ms of a step on a GPU.
    """
    given = layer.options
    options = {
        "initializer": fresh(keras.initializers.get, given.get("embeddings_initializer"))
        or dense_initializer(layer.initializer_range),
        "regularizer": keras.regularizers.get(given.get("embeddings_regularizer")),
        "constraint": keras.constraints.get(given.get("embeddings_constraint")),
    }
    return layer.add_weight(shape=(rows, width), name=name, autocast=False, **options)


def take_rows(table: Tensor, ids: Tensor, dtype: str, training: bool | None = False) -> Tensor:
    """Return the rows of a table.

    Args:
        table: (R, D).
        ids: Integer (...), each below R.
        dtype: Dtype of the result.
        training: Whether the gradient of a table of few rows is a product with one-hot rows instead of a scatter: the
            same sums in other order.

    Returns:
        (..., D).

    Example:

    >>> take_rows(np.array([[1.0], [2.0]]), np.array([1, 0, 1]), "bfloat16").numpy().tolist()
    [[2.0], [1.0], [2.0]]
    """
    table, ids = ops.convert_to_tensor(table), ops.cast(ids, "int32")
    if training and table.shape[0] <= FEW_ROWS:
        return _take_few_rows(table, ids, dtype)
    return ops.cast(_gather(table, ids), dtype)


def _gather(table: Tensor, ids: Tensor) -> Tensor:
    """Return rows of a table; `ops.take` adds five ops on TensorFlow for ids below zero, of which there are none."""
    if keras.backend.backend() != "tensorflow":
        return ops.take(table, ids, axis=0)
    import tensorflow as tf

    return tf.gather(table, ids)


def _take_few_rows(table: Tensor, ids: Tensor, dtype: str) -> Tensor:
    def function(table):
        def gradient(upstream):
            one_hot = ops.one_hot(ops.reshape(ids, (-1,)), table.shape[0], dtype=table.dtype)  # (N, R)
            upstream = ops.reshape(ops.cast(upstream, table.dtype), (-1, table.shape[1]))  # (N, D)
            return (ops.matmul(ops.transpose(one_hot), upstream),)  # (R, D)

        return _gather(ops.cast(table, dtype), ids), gradient

    return custom_gradient(function)(ops.copy(table))  # TensorFlow refuses a variable


def add_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Add rows (T, D) or (1|B, T, D) to a batch (B, T, D), and keep the batch's dtype.

    Example:

    >>> add_rows(np.zeros((2, 1, 2), "float32"), np.array([[1.0, 2.0]], "float32")).numpy().tolist()
    [[[1.0, 2.0]], [[1.0, 2.0]]]
    """
    x, rows = ops.convert_to_tensor(x), ops.convert_to_tensor(rows)
    if rows.dtype != x.dtype:
        rows = ops.broadcast_to(rows, ops.shape(x))  # before the cast: its gradient is the sum over the batch
    return x + ops.cast(rows, x.dtype)
