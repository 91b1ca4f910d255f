"""What one operation costs, against TensorFlow's own profiler and against gradients."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.analysis.cost.operations import bytes_made, multiply_adds


def operations(function, *shapes):
    """Of a traced function of float32 tensors of these shapes."""
    specs = [tf.TensorSpec(shape, "float32") for shape in shapes]
    return tf.function(function, autograph=False).get_concrete_function(*specs).graph.get_operations()


def counted(function, *shapes) -> int:
    return sum(map(multiply_adds, operations(function, *shapes)))


IMAGE, FILTER = (2, 9, 7, 4), (3, 2, 4, 6)
BY_HAND = {
    "matrices": (tf.matmul, [(3, 5), (5, 7)], 3 * 5 * 7),
    "first transposed": (lambda a, b: tf.matmul(a, b, transpose_a=True), [(5, 3), (5, 7)], 3 * 5 * 7),
    "second transposed": (lambda a, b: tf.matmul(a, b, transpose_b=True), [(3, 5), (7, 5)], 3 * 5 * 7),
    "batches": (tf.matmul, [(2, 4, 3, 5), (2, 4, 5, 7)], 8 * 3 * 5 * 7),
    "batches, transposed": (lambda a, b: tf.matmul(a, b, adjoint_a=True), [(2, 5, 3), (2, 5, 7)], 2 * 3 * 5 * 7),
    "batches, broadcast": (tf.matmul, [(2, 1, 3, 5), (4, 5, 7)], 8 * 3 * 5 * 7),
    "einsum": (lambda a, b: tf.einsum("bthd,bshd->bhts", a, b), [(2, 3, 4, 5), (2, 6, 4, 5)], 2 * 3 * 4 * 5 * 6),
    "einsum, ellipsis": (lambda a, b: tf.einsum("...td,de->...te", a, b), [(2, 3, 4, 5), (5, 7)], 24 * 5 * 7),
    "einsum, broadcast": (lambda a, b: tf.einsum("...td,...de->...te", a, b), [(1, 3, 4, 5), (2, 1, 5, 7)], 24 * 5 * 7),
    "einsum of one": (lambda a: tf.einsum("ij->ji", a), [(3, 4)], 0),
    "convolution": (lambda a, b: tf.nn.conv2d(a, b, 1, "VALID"), [IMAGE, FILTER], 2 * 7 * 6 * 6 * 3 * 2 * 4),
    "strides": (lambda a, b: tf.nn.conv2d(a, b, 2, "SAME"), [IMAGE, FILTER], 2 * 5 * 4 * 6 * 3 * 2 * 4),
    "groups": (lambda a, b: tf.nn.conv2d(a, b, 1, "SAME"), [IMAGE, (3, 2, 2, 6)], 2 * 9 * 7 * 6 * 3 * 2 * 2),
    "channel by channel": (
        lambda a, b: tf.nn.depthwise_conv2d(a, b, [1] * 4, "SAME"), [IMAGE, (3, 2, 4, 2)], 2 * 9 * 7 * 8 * 3 * 2,
    ),
    "three axes": (
        lambda a, b: tf.nn.conv3d(a, b, [1] * 5, "VALID"), [(1, 3, 4, 5, 2), (2, 2, 2, 2, 3)], 2 * 3 * 4 * 3 * 8 * 2,
    ),
    "no product": (lambda a, b: tf.nn.softmax(a * b + 1), [(3, 5), (3, 5)], 0),
    "casts are no convolutions": (lambda a: tf.cast(a > 0, "int32"), [(3, 5)], 0),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_multiply_adds_by_hand(case):
    function, shapes, expected = BY_HAND[case]
    assert counted(function, *shapes) == expected


@pytest.mark.parametrize("case", ["matrices", "first transposed", "second transposed", "convolution", "strides"])
def test_multiply_adds_are_half_of_the_flops_of_tensorflows_profiler(case):
    function, shapes, expected = BY_HAND[case]
    graph = operations(function, *shapes)[0].graph
    options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation() | {"output": "none"}
    assert tf.compat.v1.profiler.profile(graph, options=options).total_float_ops == 2 * expected


@pytest.mark.parametrize("case", ["matrices", "batches", "convolution", "strides", "groups", "channel by channel"])
def test_a_gradient_costs_twice_its_product(case):
    """One product for each side; of depthwise convolutions, another kind of operation, it is refused."""
    function, shapes, expected = BY_HAND[case]

    def gradients(*sides):
        return tf.gradients(function(*sides), sides)

    if case == "channel by channel":
        with pytest.raises(ValueError, match=r"DepthwiseConv2dNativeBackprop.* cannot be read from its shapes"):
            counted(gradients, *shapes)
    else:
        assert counted(gradients, *shapes) == 3 * expected


def test_products_that_cannot_be_read_are_refused():
    def sparse(a, b):
        return tf.raw_ops.SparseMatMul(a=a, b=b)

    with pytest.raises(ValueError, match=r"SparseMatMul .*cannot be read.*Turn fused kernels off"):
        counted(sparse, (3, 5), (5, 7))


def test_unknown_shapes_are_refused():
    with pytest.raises(ValueError, match=r"every shape is known: received \(None, 5\).*fixed shape"):
        counted(tf.matmul, (None, 5), (5, 7))


def test_bytes_of_what_is_made_without_views():
    def function(a):
        return tf.reshape(tf.cast(a > 0, "float16"), (-1,))

    made = {operation.type: bytes_made(operation) for operation in operations(function, (3, 5))}
    assert {kind: size for kind, size in made.items() if size} == {"Greater": 15, "Cast": 30}


def test_lists_of_tensors_have_no_size():
    assert not sum(bytes_made(operation) for operation in operations(lambda a: tf.raw_ops.EmptyTensorList(
        element_shape=[3], max_num_elements=4, element_dtype=tf.float32), (1,)))  # fmt: skip


def test_keras_einsum_is_what_it_says():
    """Keras turns its einsum into matrix products and transposes."""
    a, b = (2, 3, 4, 5), (2, 6, 4, 5)
    assert counted(lambda a, b: keras.ops.einsum("bthd,bshd->bhts", a, b), a, b) == 2 * 3 * 4 * 5 * 6
    assert np.prod(a) == 120  # and not the sizes of one side
