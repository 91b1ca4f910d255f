"""What a walk through a graph finds, where `complexity` alone does not show it."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_transformers.analysis.cost.traced import Body
from keras_transformers.analysis.cost.walk import Origin, Walker, Work

X = tf.TensorSpec((3, 3))


def walk(function, *origins):
    graph = tf.function(function, autograph=False).get_concrete_function(*[X] * len(origins)).graph
    return Walker().walk(Body(graph), origins)


def test_sums_and_the_longer_loop():
    assert Work(1, 2, 3, 4).plus(Work(10, 20, 30, 1)) == Work(11, 22, 33, 4)


def test_where_tensors_come_from():
    def function(x, w):
        return tf.matmul(x, w), w + 1, tf.matmul(tf.matmul(w, w), x)

    outputs, work = walk(function, Origin(varies=True), Origin())
    assert outputs == [Origin(True, 1), Origin(False, 0), Origin(True, 2)]
    assert work == Work(products=3 * 27, of_activations=0, made=2 * 36)


def test_the_first_trip_may_differ_from_the_others():
    """A state that begins with zeros depends on the input from the second trip on."""

    def function(x):
        start = (0, tf.zeros((3, 3)))
        return tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, tf.matmul(s, x) + x), start)[1]

    _, work = walk(function, Origin(varies=True))
    assert (work.products, work.of_activations, work.recurrent) == (4 * 27, 3 * 27, 4)


def test_functions_inside_functions():
    inner = tf.function(lambda a: tf.matmul(a, a), autograph=False)
    outer = tf.function(lambda a: inner(inner(a)), autograph=False)
    outputs, work = walk(lambda x: outer(x) + inner(x), Origin(varies=True))
    assert outputs == [Origin(True, 2)] and work.of_activations == 3 * 27


def test_loops_inside_loops():
    def inner(y):
        return tf.while_loop(lambda j, y: j < 3, lambda j, y: (j + 1, tf.matmul(y, y)), (0, y))[1]

    def function(x):
        return tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, inner(y)), (0, x))[1]

    outputs, work = walk(function, Origin(varies=True))
    assert outputs == [Origin(True, 6)] and work.products == 6 * 27


@pytest.mark.parametrize("grows", [False, True])
def test_an_inner_loop_of_a_length_from_outside(grows):
    """As long each time it is known; a counter of the outer loop is another number at each trip."""

    def function(x):
        end = tf.shape(x)[0]

        def outer(i, y):
            inner = tf.while_loop(lambda j, y: j < (i if grows else end), lambda j, y: (j + 1, y @ y), (0, y))
            return i + 1, inner[1]

        return tf.while_loop(lambda i, y: i < 2, outer, (0, x))[1]

    if grows:
        with pytest.raises(ValueError, match=r"how often the loop .* runs depends on a value"):
            walk(function, Origin(varies=True))
    else:
        assert walk(function, Origin(varies=True))[1].products == 2 * 3 * 27


def test_a_loop_that_never_runs():
    def function(x):
        return tf.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, tf.matmul(y, y)), (0, x))[1]

    assert walk(function, Origin(varies=True)) == ([Origin(True, 0)], Work())


def test_control_flow_of_tensorflow_1():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder("float32", (3, 3))
        graph.inputs = [x]
        graph.outputs = [tf.raw_ops.Enter(data=x, frame_name="loop")]
    with pytest.raises(ValueError, match=r"the operation Enter .* cannot be followed.*Do not disable its control flow"):
        Walker().walk(Body(graph), [Origin(varies=True)])
