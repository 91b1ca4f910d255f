"""A gradient written by hand: who differentiates meets it, and the graph that it stands in is freed."""

from __future__ import annotations

import gc
import weakref

import keras
import numpy as np
import pytest
from gradients import gradients
from keras import ops
from only_tensorflow import only_tensorflow

from keras_transformers.layers.attention.long_attention import long_attention
from keras_transformers.layers.blocks.rematerialization import recompute
from keras_transformers.layers.core.custom_gradient import custom_gradient
from keras_transformers.layers.core.dense import find_activation, lean_gelu
from keras_transformers.training.losses.target_losses import cross_entropy

X = np.array([1.0, 2.0], "float32")


def tenfold(x):
    """x squared, with ten times x as its gradient: no other than ours gives this."""
    return custom_gradient(lambda x: (x * x, lambda upstream: (10 * x * upstream,)))(x)


def slope(function, x):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def loop(x):
    import tensorflow as tf

    def body(index, y):
        return index + 1, tenfold(y)

    return tf.while_loop(lambda index, _: index < 2, body, (0, x), maximum_iterations=2)[1]


def branch(x):
    return ops.cond(ops.sum(x) > 0, lambda: tenfold(x), lambda: x)


def inner(x):
    import tensorflow as tf

    return tf.function(tenfold)(x)


def test_without_a_graph():
    np.testing.assert_array_equal(gradients(tenfold, X)[0], 10 * X)


@pytest.mark.integration(quick=["inner-expected3-jit"])
@only_tensorflow
@pytest.mark.parametrize("way", ["inside", "outside", "symbolic", "jit"])
@pytest.mark.parametrize(
    ("function", "expected"), [(tenfold, 10 * X), (loop, 100 * X**3), (branch, 10 * X), (inner, 10 * X)]
)
def test_every_way_to_differentiate_a_graph(way, function, expected):
    import tensorflow as tf

    ways = {
        "inside": tf.function(lambda x: slope(function, x)),
        "outside": lambda x: slope(tf.function(function), x),
        "symbolic": tf.function(lambda x: tf.gradients(function(x), x)[0]),
        "jit": tf.function(lambda x: slope(function, x), jit_compile=True),
    }
    np.testing.assert_array_equal(ways[way](tf.constant(X)), expected)


@only_tensorflow
def test_twice():
    import tensorflow as tf

    second = tf.function(lambda x: slope(lambda x: slope(tenfold, x), x))
    np.testing.assert_array_equal(second(tf.constant(X)), [10, 10])
    np.testing.assert_array_equal(slope(lambda x: slope(tf.function(tenfold), x), tf.constant(X)), [10, 10])


@only_tensorflow
def test_weights():
    import tensorflow as tf

    weight = keras.Variable(3.0)

    def times(x):
        def gradient(upstream, variables):
            return [10 * upstream], [100 * ops.sum(upstream) for _ in variables]

        return weight * x, gradient

    @tf.function
    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = custom_gradient(times)(x)
        return tape.gradient(y, [x, weight.value])

    assert [x.numpy().tolist() for x in slopes(tf.constant(X))] == [[10, 10], 200]


@only_tensorflow
def test_a_saved_model_has_the_gradient_of_tensorflow(tmp_path):
    import tensorflow as tf

    module = tf.Module()
    module.call = tf.function(tenfold, input_signature=[tf.TensorSpec([None])])
    tf.saved_model.save(module, tmp_path)
    np.testing.assert_array_equal(slope(tf.saved_model.load(tmp_path).call, tf.constant(X)), 2 * X)


def attend(x):
    heads = ops.reshape(x, (1, 1, 2, 1))
    return long_attention(heads, heads, heads, chunk=1)


def multiply(x):
    return recompute(WEIGHT.__mul__, x)


WEIGHT = keras.Variable(3.0)
ACTIVATIONS = {name: find_activation(name) for name in ("relu", "gelu", "gelu_tanh", "silu", "swish", "tanh")}
USERS = ACTIVATIONS | {
    "lean gelu": lean_gelu,
    "cross entropy": lambda x: cross_entropy(np.array([1]), x[None])[0],
    "long attention": attend,
    "recompute": multiply,
}


@only_tensorflow
@pytest.mark.integration(quick=["silu"])
@pytest.mark.parametrize("function", USERS.values(), ids=USERS)
def test_a_graph_is_freed(function):
    import tensorflow as tf
    from tensorflow.python.framework.ops import gradient_registry

    def trace():
        graph = tf.function(lambda x: slope(function, x)).get_concrete_function(tf.TensorSpec([2])).graph
        return weakref.ref(graph)

    trace()  # the first of all registers the one name
    registered = len(gradient_registry.list())
    graph = trace()
    gc.collect()
    assert graph() is None and len(gradient_registry.list()) == registered
