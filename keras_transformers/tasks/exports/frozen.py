"""Weights as constants of a graph: TensorFlow arranges them for its products once, not at each request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import keras
from keras import ops

MOST_BYTES = 1 << 30  # a graph is one protobuf message, of 2 GB at most


def freeze(variables: Iterable[keras.Variable]) -> tuple[list[keras.Variable], Callable[[], AbstractContextManager]]:
    """Return the variables that stay variables, and a scope in which models use constants for all others.

    Use it to trace a function for a server that reads one text at a time on a CPU, where arranging a kernel takes a
    third of the time of its product. Tables of embeddings stay variables, as few of their rows are read.

    Args:
        variables: Variables of a model.

    Returns:
        The variables that stay, and a function without arguments that returns a new scope. All graphs that are built in
        such scopes call one function that returns the constants, so that a SavedModel stores them once.

    Raises:
        ValueError: The constants take more bytes than a graph can hold.

    Example:

    >>> import tensorflow as tf
    >>> layer = keras.layers.Dense(1, kernel_initializer="ones")
    >>> layer.build((None, 2))
    >>> kept, scope = freeze(layer.weights)
    >>> def run(x):
    ...     with scope():
    ...         return layer(x)
    >>> traced = tf.function(run).get_concrete_function(tf.TensorSpec([None, 2]))
    >>> len(kept), len(traced.variables), traced(tf.ones([1, 2])).numpy().tolist()
    (0, 0, [[2.0]])
    """
    import tensorflow as tf

    kept = [variable for variable in variables if not _is_frozen(variable)]
    frozen = [variable for variable in variables if _is_frozen(variable)]
    arrays = [ops.convert_to_numpy(variable) for variable in frozen]
    if (size := sum(array.nbytes for array in arrays)) > MOST_BYTES:
        raise ValueError(
            f"frozen=True writes the weights into the graph, which holds {MOST_BYTES:,} bytes of them: received "
            f"a model with {size:,} besides its tables of embeddings. Export it without frozen."
        )
    constants = tf.function(lambda: [tf.constant(array) for array in arrays], input_signature=[], autograph=False)
    return kept, lambda: keras.StatelessScope([*zip(frozen, constants(), strict=True)])


def _is_frozen(variable: keras.Variable) -> bool:
    return keras.backend.is_float_dtype(variable.dtype) and not variable.name.endswith("embeddings")
