"""Columns of requests and answers as tensors: their specs, rows that fill them up, and their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_transformers.generation.prefix import Prefix
from keras_transformers.generation.request import Request, make_request
from keras_transformers.generation.serving.compiled_loop import padded_length, power_of_two
from keras_transformers.generation.stop import StopStrings
from keras_transformers.layers.attention.cache import has_places

TEXT = tf.TensorSpec([None], tf.string, name="text")
STOP = tf.TensorSpec([None, None], tf.string, name="stop")
ERROR, COUNT = tf.TensorSpec([None], tf.string), tf.TensorSpec([], tf.int32)
REQUEST = tf.nest.map_structure(lambda x: tf.TensorSpec([None] * x.ndim, x.dtype), make_request(1, ["a"], {0: 0.0}, {}))


def tiled(request: Request, rows: tf.Tensor) -> Request:
    """Return a request of one row for so many rows."""
    # `tf.repeat` takes 31 operations for each parameter, this 6.
    return tf.nest.map_structure(lambda x: tf.tile(x, [rows] + [1] * (len(x.shape) - 1)), request_tensors(request))


def with_rows_of_zeros(size: tf.Tensor, column: tf.Tensor) -> tf.Tensor:
    """Return a column with rows of zeros or "" at its end, so that it has so many; nothing is generated for them."""
    shape = tf.shape(column)
    return tf.concat([column, tf.zeros(tf.concat([[size - shape[0]], shape[1:]], 0), column.dtype)], 0)


def squeezed(columns: dict[str, tf.Tensor], sequences: int) -> dict[str, tf.Tensor]:
    """Return columns (B,) rather than (B, 1) where there is one text for each prompt."""
    return {name: x[:, 0] if sequences == 1 and x.shape.rank == 2 else x for name, x in columns.items()}


def request_tensors(request: Request) -> Request:
    """Return a request as tensors of its dtypes."""
    return tf.nest.map_structure(lambda spec, column: tf.constant(column, spec.dtype), REQUEST, request)


def prefix_specs(prefix: Any) -> Any:
    """Return the specs of prefixes of any length."""
    if not prefix:
        return ()
    blocks = [{name: _any_length(name, x) for name, x in block.items()} for block in prefix.blocks]
    return Prefix(tf.TensorSpec([None], tf.int32), blocks)


def _any_length(name: str, part: Any) -> tf.TensorSpec:
    shape = [*part.shape]
    if has_places(name):
        shape[2] = None
    return tf.TensorSpec(shape, part.dtype)


def padded_source(source: dict[str, tf.Tensor], longest: int) -> dict[str, tf.Tensor]:
    """Return the inputs of the encoder, if there are any, with padding up to one of few lengths."""

    def padded(column: tf.Tensor) -> tf.Tensor:
        tokens = tf.shape(column)[1]
        return tf.pad(column, [[0, 0], [0, padded_length(tokens, longest) - tokens]])

    return {name: padded(column) for name, column in source.items()}


def padded_request(request: Request) -> Request:
    """Return a request with room for more and longer stop strings and choices, up to one of few sizes."""

    def more(size: tf.Tensor) -> tf.Tensor:
        return tf.where(size == 0, 0, power_of_two(size) - size)

    (_, strings, longest), (_, choices, most) = (
        tf.unstack(tf.shape(x)) for x in (request.stop.strings, request.choices)
    )
    added = [[0, 0], [0, more(strings)]]
    stop = StopStrings(tf.pad(request.stop.strings, [*added, [more(longest), 0]]), tf.pad(request.stop.lengths, added))
    padded = tf.pad(request.choices, [[0, 0], [0, more(choices)], [0, more(most)]], constant_values=-1)
    return request._replace(stop=stop, choices=padded)


def no_errors(texts: Sequence[str]) -> tf.Tensor:
    """Return an empty error for each text, string (B,)."""
    return tf.constant([""] * len(texts), tf.string)
