"""Checks of layer inputs, with clear errors before TensorFlow or JAX fails."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformers.utils.number_checks import is_finite, is_number, is_size


def check_sizes(**sizes: Any) -> None:
    """Check that sizes are positive integers; None passes.

    Example:

    >>> check_sizes(num_heads=8, head_dim=None)
    """
    if wrong := {name: size for name, size in sizes.items() if size is not None and not is_size(size)}:
        raise ValueError(f"{', '.join(wrong)} must be a positive integer: received {wrong}.")


def check_rates(**rates: Any) -> None:
    """Check that rates of dropout are numbers in [0, 1).

    Example:

    >>> check_rates(dropout=0.1)
    """
    if wrong := {name: rate for name, rate in rates.items() if not is_number(rate) or not 0 <= rate < 1}:
        raise ValueError(f"{', '.join(wrong)} must be a number from 0 to less than 1: received {wrong}.")


def check_positive(**numbers: Any) -> None:
    """Check that numbers are positive and finite; None passes.

    Example:

    >>> check_positive(scale=None, epsilon=1e-5)
    """
    if wrong := {name: x for name, x in numbers.items() if x is not None and not (is_finite(x) and x > 0)}:
        raise ValueError(f"{', '.join(wrong)} must be a positive number: received {wrong}.")


def check_choice(value: Any, choices: tuple, name: str) -> None:
    """Check that a value is one of several.

    Example:

    >>> check_choice("pre", ("post", "pre"), "norm_order")
    """
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}: received {value!r}.")


def check_shape(shape: Any, name: str = "hidden_states") -> None:
    """Check the shape of vectors: (batch, length, width), the width known.

    Example:

    >>> check_shape((None, None, 8))
    """
    shape = tuple(shape)
    if len(shape) != 3:
        remedies = {2: "Add the axis of the length: ops.expand_dims(x, 1).", 1: "Add the axis of the batch: x[None]."}
        remedy = remedies.get(len(shape), "Reshape it, or call the layer in keras.layers.TimeDistributed.")
        raise ValueError(f"{name} must be (batch, length, width): received {format_shape(shape)}. {remedy}")
    if shape[1] == 0:
        raise ValueError(f"{name} must have one token or more: received {format_shape(shape)}.")
    if shape[-1] is None:
        raise ValueError(f"the width of {name} must be known: received {format_shape(shape)}. Give it in keras.Input.")


def as_array(x: Any) -> Any:
    """Convert a list to an array; return tensors, arrays and None unchanged.

    Example:

    >>> as_array([[1, 2]]).shape
    (1, 2)
    """
    return x if x is None or hasattr(x, "shape") else np.asarray(x)


def check_dense(x: Any, name: str) -> None:
    """Check that a tensor is dense, neither ragged nor sparse.

    Example:

    >>> check_dense(np.ones((1, 3, 8)), "hidden_states")
    """
    kind = type(x).__name__
    if getattr(x, "ragged", False) or kind == "RaggedTensor":
        remedy = "ragged one. Pass x.to_tensor(), and padding_mask=tf.sequence_mask(x.row_lengths())"
    elif getattr(x, "sparse", False) or kind == "SparseTensor":
        remedy = "sparse one. Pass tf.sparse.to_dense(x)"
    else:
        return
    raise ValueError(f"{name} must be a dense tensor: received a {remedy}.")


def check_vectors(**inputs: Any) -> None:
    """Check the shapes and the dtypes of vectors, by name; None passes.

    Example:

    >>> check_vectors(hidden_states=np.ones((1, 3, 8)), context=None)
    """
    for name, x in inputs.items():
        if x is None:
            continue
        if not hasattr(x, "shape"):
            raise ValueError(f"{name} must be a tensor (batch, length, width): received a {type(x).__name__}.")
        check_dense(x, name)
        check_shape(x.shape, name)
        dtype = _dtype(x)
        if not keras.backend.is_float_dtype(dtype):
            raise ValueError(
                f"{name} must be vectors of floating-point numbers: received {dtype}. Token ids become vectors in "
                "TokenEmbedding; other integers are cast, ops.cast(x, 'float32')."
            )


def check_rows(hidden_states: Any, context: Any | None) -> None:
    """Check that a context (B, S, E) has as many rows as the hidden states (B, T, D), if both are known.

    Example:

    >>> check_rows(np.ones((2, 3, 8)), np.ones((2, 5, 8)))
    """
    rows = [x.shape[0] for x in (hidden_states, context) if x is not None and x.shape[0] is not None]
    if len(set(rows)) > 1:
        raise ValueError(f"hidden_states and context must have the same batch size: received {rows[0]} and {rows[1]}.")


def check_integers(**inputs: Any) -> None:
    """Check that numbers, by name, are integers; None passes.

    A layer in half precision rounds numbers of a floating-point dtype: 257 becomes 256.

    Example:

    >>> check_integers(positions=np.array([[0, 1]]), documents=None)
    """
    for name, x in inputs.items():
        dtype = "int32" if x is None else _dtype(x)
        if not keras.backend.is_int_dtype(dtype):
            raise ValueError(f"{name} must be integers: received {dtype}. Cast them: ops.cast({name}, 'int32').")


def check_positions(**positions: Any) -> None:
    """Check that positions, by name, have the shape (1, T) or (B, T), with one token or more.

    Example:

    >>> check_positions(positions=np.arange(3)[None])
    """
    for name, x in positions.items():
        if len(x.shape) != 2 or x.shape[1] == 0:
            raise ValueError(
                f"{name} must be (1, length) or (batch, length), with one token or more: received "
                f"{format_shape(tuple(x.shape))}. Of one text give np.arange(length)[None]."
            )


def check_numbers_of_rows(ids: Any, rows: int, what: str, remedy: str) -> None:
    """Check that row numbers are within a table, if their values are known, which they are not in a graph.

    TensorFlow on a GPU and JAX would silently take zeros, NaN or another row.

    Args:
        ids: Integers (...).
        rows: Number of rows of the table.
        what: Name of the numbers, for the error message.
        remedy: Remedy to give in the error message.

    Raises:
        ValueError: A number is not in [0, rows), or not an integer.

    Example:

    >>> check_numbers_of_rows(np.array([0, 9]), 10, "token ids", "")
    """
    dtype = _dtype(ids)
    if not keras.backend.is_int_dtype(dtype) and not _are_whole(ids):
        raise ValueError(f"{what} must be integers: received {dtype}.")
    values = values_of(ids)
    if values is not None and values.size and not 0 <= values.min() <= values.max() < rows:
        wrong = values.min() if values.min() < 0 else values.max()
        raise ValueError(f"{what} must be from 0 to {rows - 1}: received {wrong}. {remedy}")


def _dtype(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def _are_whole(ids: Any) -> bool:
    """Return whether floating-point numbers are all integers, as `keras.layers.Embedding` allows."""
    if not keras.backend.is_float_dtype(_dtype(ids)):
        return False
    values = values_of(ids)
    return values is None or (np.isfinite(values).all() and (values == np.floor(values)).all())


def values_of(x: Any) -> np.ndarray | None:
    """Return the values of a tensor; None in a graph, where they are unknown.

    Example:

    >>> values_of(np.array([1, 2])).tolist()
    [1, 2]
    """
    if isinstance(x, np.ndarray):
        return x
    try:
        # NumPy warns when it converts a tensor of TensorFlow itself.
        return np.asarray(x.numpy() if keras.backend.backend() == "tensorflow" else ops.convert_to_numpy(x))
    except (NotImplementedError, TypeError, ValueError, AttributeError):
        return None


def format_shape(sizes: tuple) -> str:
    """Format a shape for an error message.

    Example:

    >>> format_shape((2, None, 8))
    '(2, ?, 8)'
    """
    return f"({', '.join('?' if size is None else str(size) for size in sizes)})"
