"""Products with weights of 8 bits, for exports: the weights are rounded once, the activations at each product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformers.utils.static_shapes import next_size
from keras_transformers.utils.tensor_types import Tensor

LARGEST = 127  # codes are from -127 to 127
LEAST = 1e-5  # of the largest activations and weights of a channel that are balanced
TINY = 1e-30  # the least largest number of a row, as rows may be zeros
# Numbers of rows that products are padded to, as XLA compiles a program for each: 2, 4, 8, 16, 24, 32, 48, ... XLA's
# product with a single row takes 30 times as long as with two.
PADDED_ROWS = [2, 4, 8] + [2**power * size // 2 for power in range(4, 23) for size in (2, 3)]


class Int8Matrix(NamedTuple):
    """A matrix from K numbers to N, or a table of N rows of K numbers, with 8 bits a number and a scale for each row.

    Weights are rounded by output channel, activations by token as they come, as in ZeroQuant: Yao et al. 2022,
    https://arxiv.org/abs/2206.01861, section 4. Input channels with large activations lose less with `divisors`, as in
    SmoothQuant: Xiao et al. 2022, https://arxiv.org/abs/2211.10438.

    Args:
        codes: int8 (N, K), a TensorFlow variable.
        scales: float32 (N,), a TensorFlow variable: the numbers are `codes * scales`, divided by `divisors`.
        divisors: float32 (K,), a TensorFlow variable: activations are divided by them before they are rounded; None
            for ones.

    Example:

    >>> matrix = rounded(np.array([[1.0, -0.5], [0.0, 0.25]]))
    >>> matrix.codes.numpy().tolist()
    [[127, -64], [0, 127]]
    >>> matrix.product(np.array([[2.0, 0.0]], "float32")).numpy().round(4).tolist()
    [[2.0, 0.0]]
    """

    codes: Any
    scales: Any
    divisors: Any = None

    def product(self, x: Tensor) -> Tensor:
        """Return (..., N) for (..., K), in the same dtype: each row of `x` is rounded to 8 bits."""
        import tensorflow as tf

        x = tf.convert_to_tensor(x)
        channels, width = self.codes.shape
        flat = tf.cast(tf.reshape(x, (-1, width)), tf.float32)  # (R, K)
        flat = flat if self.divisors is None else flat / self.divisors
        outputs = (_padded_product if _BY_XLA.get() else _product)(flat, self.codes, self.scales)  # (R, N)
        outputs = tf.cast(tf.reshape(outputs, (-1, channels)), x.dtype)
        return outputs if x.shape.rank == 2 else tf.reshape(outputs, tf.concat([tf.shape(x)[:-1], [channels]], 0))

    def rows(self, ids: Tensor, dtype: str) -> Tensor:
        """Return the rows (..., K) of integer ids (...)."""
        import tensorflow as tf

        codes, scales = tf.gather(self.codes, ids), tf.gather(self.scales, ids)  # (..., K), (...)
        rows = tf.cast(codes, tf.float32) * tf.expand_dims(scales, -1)
        return tf.cast(rows if self.divisors is None else rows / self.divisors, dtype)


_IN_USE: ContextVar[Mapping[int, Int8Matrix]] = ContextVar("_IN_USE", default=MappingProxyType({}))
_BY_XLA: ContextVar[bool] = ContextVar("_BY_XLA", default=True)


def int8_matrix(layer: keras.layers.Layer) -> Int8Matrix | None:
    """Return the rounded matrix or table that a layer is to use; None outside `int8_matrices`."""
    return _IN_USE.get().get(id(layer))


@contextmanager
def int8_matrices(matrices: Mapping[keras.layers.Layer, Any]) -> Iterator[None]:
    """Let layers compute with rounded matrices, in functions that are traced inside.

    Args:
        matrices: The `Int8Matrix` of each layer, the transposed kernel of a `Dense` or the table of a `TokenEmbedding`;
            or an object with the same methods.
    """
    token = _IN_USE.set({id(layer): matrix for layer, matrix in matrices.items()})
    try:
        yield
    finally:
        _IN_USE.reset(token)


@contextmanager
def without_xla() -> Iterator[None]:
    """Compute products that are traced inside in float32, from the same rounded numbers: for hosts without XLA."""
    token = _BY_XLA.set(False)
    try:
        yield
    finally:
        _BY_XLA.reset(token)


def rounded(matrix: np.ndarray, activations: np.ndarray | None = None) -> Int8Matrix:
    """Return a matrix with 8 bits a number.

    Args:
        matrix: (N, K).
        activations: (K,), the largest activations of the input channels: divisors are made of them. None for no
            divisors.

    Raises:
        ValueError: A weight or an activation is not finite.
    """
    import tensorflow as tf

    def variable(values: np.ndarray) -> tf.Variable:
        return tf.Variable(values, trainable=False)

    matrix = np.asarray(matrix, "float32")
    if not np.isfinite(matrix).all() or not np.isfinite(activations if activations is not None else 0).all():
        raise ValueError("weights or activations that are infinite or not a number cannot be rounded to 8 bits.")
    divisors = None
    if activations is not None:
        weights = np.abs(matrix).max(axis=0)  # (K,)
        # Other texts may have more in a channel that was small: only the large ones are made smaller.
        activations = np.maximum(activations, max(activations.mean(), LEAST))
        divisors = np.sqrt(activations / np.maximum(weights, LEAST)).astype("float32")
        matrix = matrix * divisors
    scales = np.maximum(np.abs(matrix).max(axis=1), TINY) / LARGEST  # (N,)
    codes = np.rint(matrix / scales[:, None]).astype("int8")
    return Int8Matrix(variable(codes), variable(scales), None if divisors is None else variable(divisors))


def _round_rows(x: Any) -> tuple[Any, Any]:
    """Return whole numbers from -127 to 127, (R, K), and the scale of each row, (R, 1)."""
    import tensorflow as tf

    scales = tf.maximum(tf.reduce_max(tf.abs(x), axis=1, keepdims=True), TINY) / LARGEST  # (R, 1)
    scales += tf.reduce_sum(0 * x, axis=1, keepdims=True)  # not a number if one of x is none, which XLA's maximum drops
    return tf.round(x / scales), scales


def _padded_product(x: Any, codes: Any, scales: Any) -> Any:
    """Return the product (R, N), computed by a program for a few more rows than R."""
    import tensorflow as tf

    rows = tf.shape(x)[0]
    padding = next_size(rows, PADDED_ROWS) - rows
    return _int8_product()(tf.pad(x, [[0, padding], [0, 0]]), codes, scales)[:rows]


@cache
def _int8_product() -> Any:
    """Return the product as a function that XLA compiles for each number of rows."""
    import tensorflow as tf

    specs = [tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None, None], tf.int8), tf.TensorSpec([None])]
    product = partial(_product, in_int8=True)
    return tf.function(product, input_signature=specs, jit_compile=True, autograph=False)


def _product(x: Any, codes: Any, scales: Any, in_int8: bool = False) -> Any:
    """Return the product (R, N) of rounded rows (R, K); whole numbers are multiplied in float32, or in int8 by XLA."""
    import tensorflow as tf

    whole, row_scales = _round_rows(x)
    if in_int8:
        sums = tf.matmul(tf.cast(whole, tf.int8), codes, transpose_b=True, output_type=tf.int32)  # (R, N)
    else:
        sums = tf.matmul(whole, tf.cast(codes, tf.float32), transpose_b=True)
    return tf.cast(sums, tf.float32) * row_scales * scales
