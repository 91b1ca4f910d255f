"""Hash tables that are freed with the last function that uses them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformers.utils.keras_private import eager_mode


def lookup_table(
    keys: Sequence[Any] | np.ndarray,
    values: Sequence[int] | np.ndarray,
    key_dtype: tf.DType,
    value_dtype: tf.DType,
    default: int,
) -> tf.lookup.StaticHashTable:
    """Make a hash table that is freed with the last object or function that refers to it.

    TensorFlow finds hash tables by name, and keeps each for the life of the process. With `experimental_is_anonymous`
    it frees them, but an export with such tables makes an empty one for each request.

    Args:
        keys, values: Sequences of the same length, at least one.
        key_dtype: Dtype of the keys, integers or strings.
        value_dtype: Dtype of the values.
        default: The value of all other keys.

    Example:

    >>> table = lookup_table(["a", "b"], [1, 2], tf.string, tf.int32, -1)
    >>> table.lookup(tf.constant(["b", "c"])).numpy().tolist()
    [2, -1]
    """
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values, key_dtype, value_dtype)
    table = tf.lookup.StaticHashTable(initializer, default)
    with tf.init_scope():
        another = tf.identity(table.resource_handle)  # graphs hold the first handle, and may outlive the table
    weakref.finalize(table.resource_handle, _destroy, another).atexit = False
    return table


def _destroy(handle: tf.Tensor) -> None:
    with eager_mode():  # garbage may be collected while a graph is built
        tf.raw_ops.DestroyResourceOp(resource=handle, ignore_lookup_error=True)
