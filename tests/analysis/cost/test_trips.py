"""How often loops run."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_transformers.analysis.cost.traced import LOOPS, Body
from keras_transformers.analysis.cost.trips import trip_count


def body_of(function, *specs) -> Body:
    return Body(tf.function(function, autograph=False).get_concrete_function(*specs).graph)


def trips(function, *specs) -> int:
    body = body_of(function, *specs)
    (loop,) = [operation for operation in body.operations if operation.type in LOOPS]
    return trip_count(body, loop)


def count_to(end, step=1):
    return lambda: tf.while_loop(lambda i, x: i < end, lambda i, x: (i + step, x * 2.0), (0, 1.0))[1]


@pytest.mark.parametrize(("end", "step", "expected"), [(7, 1, 7), (7, 2, 4), (0, 1, 0), (1, 5, 1)])
def test_a_counter(end, step, expected):
    assert trips(count_to(end, step)) == expected


def test_a_counter_down_that_is_halved():
    assert trips(lambda: tf.while_loop(lambda i, x: i > 1, lambda i, x: (i // 2, x + 1.0), (100, 0.0))[1]) == 6


def test_at_most_so_many():
    def function():
        return tf.while_loop(lambda x: True, lambda x: (x * 2.0,), (1.0,), maximum_iterations=5)

    assert trips(function) == 5


def test_the_size_of_the_input():
    def function(x):
        return tf.while_loop(lambda i, s: i < tf.shape(x)[1], lambda i, s: (i + 1, s + x[0, i]), (0, 0.0))[1]

    assert trips(function, tf.TensorSpec((2, 9))) == 9


def test_two_counters_that_wait_for_each_other():
    def function():
        return tf.while_loop(
            lambda i, j, x: j < 10, lambda i, j, x: (i + 1, j + i, x + 1.0), (1, 0, 0.0)
        )[2]  # fmt: skip

    assert trips(function) == 4  # 0, 1, 3, 6, 10


def test_a_loop_in_a_function_knows_what_the_function_is_given():
    inner = tf.function(lambda end: tf.while_loop(lambda i: i < end, lambda i: (i + 1,), (0,))[0], autograph=False)
    body = body_of(lambda: inner(tf.constant(3)) + inner(tf.constant(4)))
    calls = [
        operation for operation in body.operations if operation.type in ("PartitionedCall", "StatefulPartitionedCall")
    ]
    found = []
    for call in calls:
        inside = body.inside(call, "f")
        found += [trip_count(inside, loop) for loop in inside.operations if loop.type in LOOPS]
    assert sorted(found) == [3, 4]


def test_a_number_of_trips_that_is_in_the_input():
    def function(end):
        return tf.while_loop(lambda i: i < end, lambda i: (i + 1,), (0,))

    with pytest.raises(ValueError, match=r"how often the loop '.*' runs depends on a value .*'end.*without a mask"):
        trips(function, tf.TensorSpec((), tf.int32))


def test_a_number_of_trips_that_changes_with_the_values():
    def function(x):
        return tf.while_loop(lambda x: tf.reduce_sum(x) < 10, lambda x: (x * 2.0,), (x,))

    with pytest.raises(ValueError, match="follows from the shapes"):
        trips(function, tf.TensorSpec((3,)))
