"""The cost of one operation of a TensorFlow graph, from its shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

# Matrix products, with the name of the option that transposes the first matrix.
MATRIX_PRODUCTS = {
    "MatMul": "transpose_a", "BatchMatMul": "adj_x", "BatchMatMulV2": "adj_x", "BatchMatMulV3": "adj_x",
}  # fmt: skip
CONVOLUTIONS = ("Conv2D", "Conv3D", "Conv")
# Names of products. One that cannot be counted is an error, as it would be left out silently: GPU kernels, sparse and
# compiled products.
PRODUCT = re.compile(r"MatMul|Conv(?!ert)|RNN|Rnn|Lstm|LSTM|GRU|XlaDot|Einsum|FusedBatch.*Attention")
# Operations that return the numbers of their input.
VIEWS = (
    "Identity", "IdentityN", "Reshape", "ExpandDims", "Squeeze", "StopGradient", "PreventGradient", "Shape", "ShapeN",
    "ReadVariableOp", "Const", "Placeholder", "EnsureShape",
)  # fmt: skip


def multiply_adds(operation: Any) -> int:
    """Return the multiply-adds of one matrix product or convolution.

    Args:
        operation: Operation of a `tf.Graph`.

    Returns:
        Their number; 0 for any other operation, such as addition or softmax.

    Raises:
        ValueError: A shape is unknown, or it is a product that cannot be read.
    """
    kind = operation.type
    if not PRODUCT.search(kind):
        return 0
    if kind not in _COUNT:
        raise ValueError(
            f"the multiply-adds of the operation {kind} ({operation.name!r}) cannot be read from its shapes: expected "
            f"one of {sorted(_COUNT)}. Turn fused kernels off, such as with use_cudnn=False."
        )
    return _COUNT[kind](operation)


def bytes_made(operation: Any) -> int:
    """Return the bytes of the tensors that an operation computes.

    Args:
        operation: Operation of a `tf.Graph`.

    Returns:
        Their number; 0 for views, such as `Reshape`, and for lists of tensors, which count where they are computed.

    Raises:
        ValueError: A shape is unknown.
    """
    if operation.type in VIEWS:
        return 0
    # A list of tensors, a resource and a string have no size of their own.
    sized = [tensor for tensor in operation.outputs if tensor.dtype.is_floating or tensor.dtype.is_integer
             or tensor.dtype.is_bool or tensor.dtype.is_complex]  # fmt: skip
    return sum(math.prod(shape_of(tensor)) * tensor.dtype.size for tensor in sized)


def shape_of(tensor: Any) -> tuple[int, ...]:
    """Return the shape of a tensor of a graph; raise a `ValueError` if it is not known."""
    if not tensor.shape.is_fully_defined():
        raise ValueError(
            f"operations can be counted where every shape is known: received {tensor.shape} of {tensor.name!r}. "
            "Give inputs of fixed shape, and layers whose output does not depend on the values of their input."
        )
    return tuple(tensor.shape)


def _matrix_product(operation: Any) -> int:
    first = shape_of(operation.inputs[0])
    transposed = operation.get_attr(MATRIX_PRODUCTS[operation.type])
    return math.prod(shape_of(operation.outputs[0])) * first[-2 if transposed else -1]


def _convolution(operation: Any) -> int:
    """Count a convolution; its filter is (..., input channels, output channels)."""
    return math.prod(shape_of(operation.outputs[0])) * math.prod(shape_of(operation.inputs[1])[:-1])


def _depthwise(operation: Any) -> int:
    """Count a depthwise convolution; its filter is (height, width, channels, multiplier)."""
    return math.prod(shape_of(operation.outputs[0])) * math.prod(shape_of(operation.inputs[1])[:-2])


def _convolution_to_input(operation: Any) -> int:
    """Count a gradient of the input or a transposed convolution; inputs: sizes, filter, gradient of the output."""
    return math.prod(shape_of(operation.inputs[2])) * math.prod(shape_of(operation.inputs[1])[:-1])


def _convolution_to_filter(operation: Any) -> int:
    """Count a gradient of the filter; inputs: input, sizes, gradient of the output."""
    return math.prod(shape_of(operation.inputs[2])) * math.prod(shape_of(operation.outputs[0])[:-1])


def _einsum(operation: Any) -> int:
    """Count an einsum: the product of the sizes of all letters; dimensions of an ellipsis are aligned at the end."""
    sizes: dict[Any, int] = {}
    equation = operation.get_attr("equation").decode().replace(" ", "")
    for letters, tensor in zip(equation.split("->")[0].split(","), operation.inputs, strict=True):
        shape = shape_of(tensor)
        before, dots, after = letters.partition("...")
        hidden = len(shape) - len(before) - len(after)
        labels = [*before, *(range(-hidden, 0) if dots else ()), *after]
        for label, size in zip(labels, shape, strict=True):
            sizes[label] = max(size, sizes.get(label, 1))
    return math.prod(sizes.values()) if len(operation.inputs) > 1 else 0


_COUNT: dict[str, Callable[[Any], int]] = {
    **dict.fromkeys(MATRIX_PRODUCTS, _matrix_product),
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    **{f"Conv{axes}DBackpropInput{version}": _convolution_to_input for axes in (2, 3) for version in ("", "V2")},
    **{f"Conv{axes}DBackpropFilter{version}": _convolution_to_filter for axes in (2, 3) for version in ("", "V2")},
    "DepthwiseConv2dNative": _depthwise,
    "Einsum": _einsum,
}
