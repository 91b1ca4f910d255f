"""A loop over chunks of rows, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from keras import ops

from keras_transformers.tasks.answers.readers import Tensors
from keras_transformers.training.workers.distribute import on_tensorflow
from keras_transformers.utils.tensor_types import Tensor


class Spec(NamedTuple):
    """Dtype and shape of an output for one row."""

    dtype: str
    shape: tuple[int, ...]


def in_chunks(
    function: Callable[[Tensors], Tensors], columns: Tensors, specs: Mapping[str, Spec], size: int
) -> Tensors:
    """Return the outputs of a function for all rows, computed for `size` rows at a time.

    Args:
        function: Function from columns of some rows to columns of `specs` with the same number of rows.
        columns: Tensors (W, ...).
        specs: Specifications of the outputs.
        size: The most rows at a time.

    Returns:
        Tensors (W, ...) of `specs`.

    Example:

    >>> columns = {"number": ops.arange(5)}
    >>> squares = lambda rows: {"square": rows["number"] ** 2}
    >>> ops.convert_to_numpy(in_chunks(squares, columns, {"square": Spec("int32", ())}, 2)["square"]).tolist()
    [0, 1, 4, 9, 16]
    """
    if on_tensorflow():
        return _in_loop(function, columns, specs, size)
    return _in_map(function, columns, size)


def _in_map(function: Callable[[Tensors], Tensors], columns: Tensors, size: int) -> Tensors:
    """Compute chunks in a loop of the program: its size does not grow with the number of chunks."""
    rows = len(next(iter(columns.values())))
    if rows <= size:
        return function(columns)
    count = -(-rows // size)

    def chunked(column: Tensor) -> Tensor:
        missing = [[0, count * size - rows], *[[0, 0]] * (len(column.shape) - 1)]
        return ops.reshape(ops.pad(column, missing), (count, size, *column.shape[1:]))

    found = ops.map(function, {name: chunked(column) for name, column in columns.items()})  # (count, size, ...) each
    return {name: ops.reshape(part, (count * size, *part.shape[2:]))[:rows] for name, part in found.items()}


def _in_loop(function: Callable[[Tensors], Tensors], columns: Tensors, specs: Mapping[str, Spec], size: int) -> Tensors:
    import tensorflow as tf

    rows = tf.shape(next(iter(columns.values())))[0]
    count = tf.maximum(-(-rows // size), 1)  # at least one, since an empty list of chunks cannot be joined

    def step(number: tf.Tensor, *arrays: tf.TensorArray) -> tuple:
        chunk = slice(number * size, (number + 1) * size)
        found = function({name: column[chunk] for name, column in columns.items()})
        parts = [tf.cast(found[name], spec.dtype) for name, spec in specs.items()]
        return number + 1, *(array.write(number, part) for array, part in zip(arrays, parts, strict=True))

    arrays = [
        tf.TensorArray(spec.dtype, count, infer_shape=False, element_shape=[None, *spec.shape])
        for spec in specs.values()
    ]
    # Not in parallel, which is the default: chunks are independent, so that all of them would be in memory.
    _, *arrays = tf.while_loop(lambda number, *_: number < count, step, (0, *arrays), parallel_iterations=1)
    return {name: array.concat() for name, array in zip(specs, arrays, strict=True)}
