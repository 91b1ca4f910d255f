"""Functions of texts that are traced once for all callers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def traced_once(function: Callable[[tf.Tensor], Any]) -> Callable[[tf.Tensor], Any]:
    """Let all graphs share one trace of a function of texts (B,) string; eager calls run the function itself.

    Tracing a text graph takes a second, and every `tf.function` and `tf.data` map would repeat it. Eager calls do not
    wait for a trace that they may never use again.

    The result is a plain Python function. A `tf.function` as an attribute of a `tf.Module` would be saved with each
    SavedModel, beside the signatures that use it.

    Example:

    >>> calls = []
    >>> count = traced_once(lambda texts: calls.append("traced") or tf.strings.length(texts))
    >>> for _ in range(2):
    ...     length = tf.function(lambda texts: count(texts) + count(texts))
    ...     print(length(tf.constant(["cat"])).numpy())
    [6]
    [6]
    >>> calls
    ['traced']
    """
    traced = tf.function(function, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)

    def call(texts: tf.Tensor) -> Any:
        return traced(tf.convert_to_tensor(texts)) if tf.inside_function() else function(texts)

    return call
