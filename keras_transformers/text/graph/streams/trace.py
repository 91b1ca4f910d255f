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


def traced_loop(function: Callable[..., Any], signature: list[tf.TensorSpec]) -> Callable[..., Any]:
    """Let eager calls trace a function, too: in a loop of many steps each step would take milliseconds, not 0.1.

    Use it for loops whose number of steps depends on a text or a vocabulary. The result is a plain function, as in
    `traced_once`.

    Example:

    >>> count_to = lambda n: tf.while_loop(lambda i: i < n, lambda i: [i + 1], [0])[0]
    >>> count = traced_loop(count_to, [tf.TensorSpec([], tf.int32)])
    >>> int(count(tf.constant(10_000)))
    10000
    """
    traced = tf.function(function, input_signature=signature, autograph=False)
    return lambda *values: (function if tf.inside_function() else traced)(*values)
