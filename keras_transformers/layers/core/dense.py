"""Dense layers: their biases, initialisers, shapes and activations."""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.core.custom_gradient import custom_gradient
from keras_transformers.layers.core.int8_weights import int8_matrix
from keras_transformers.layers.interface.layer_options import DenseOwner, fresh
from keras_transformers.utils.number_checks import is_finite
from keras_transformers.utils.tensor_types import Tensor


@keras.saving.register_keras_serializable("keras_transformers")
class Dense(keras.layers.Dense):
    """Keras' dense layer, whose bias learns from sums in float32.

    It has the name of Keras' class, because .weights.h5 files use that name in the paths of weights.

    Args:
        units, use_bias, activation: As in `keras.layers.Dense`, as are all others.

    Call arguments:
        inputs: (..., D).
        training: Whether gradients are needed.

    Example:

    >>> Dense(3, dtype="mixed_bfloat16")(np.ones((2, 5, 4), "float32"), training=True).shape
    TensorShape([2, 5, 3])
    """

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if (matrix := int8_matrix(self)) is not None:
            x = matrix.product(inputs)  # (..., units)
            x = x if self.bias is None else ops.add(x, self.bias)
            return x if self.activation is None else self.activation(x)
        if training is None or training is False or self.bias is None:
            return super().call(inputs, training=training)
        x = add_bias(ops.matmul(inputs, self.kernel), self.bias)  # (..., units)
        return x if self.activation is None else self.activation(x)

    def quantize(self, mode: str, type_check: bool = True, *arguments: Any, **options: Any) -> None:
        type_check = type_check and type(self) is not Dense  # Keras refuses subclasses of its class
        super().quantize(mode, type_check, *arguments, **options)


def add_bias(x: Tensor, bias: Tensor) -> Tensor:
    """Add a bias whose gradient is summed in float32, in bfloat16 too.

    TensorFlow's `BiasAddGrad` sums in bfloat16 on a CPU: of 4,096 gradients near 1 nearly nine tenths are lost, and the
    error of random ones is 5 %. A product with a row of ones sums in float32, in 0.5 to 0.8 of the time.

    Args:
        x: (..., D).
        bias: (D,), of the same dtype.

    Returns:
        (..., D).

    Example:

    >>> add_bias(np.array([[1.0, 2.0]]), np.array([0.5, 0.0])).numpy().tolist()
    [[1.5, 2.0]]
    """
    if keras.backend.backend() != "tensorflow" or keras.backend.standardize_dtype(x.dtype) != "bfloat16":
        return ops.add(x, bias)
    import tensorflow as tf

    def with_gradient(total, bias):
        def gradient(upstream):
            rows = tf.reshape(upstream, (-1, bias.shape[0]))  # (N, D)
            return upstream, tf.matmul(tf.ones((1, tf.shape(rows)[0]), rows.dtype), rows)[0]

        return total, gradient

    # The addition is outside the custom gradient, so that it is fused with the product before it.
    bias = ops.convert_to_tensor(bias)
    return custom_gradient(with_gradient)(ops.add(x, ops.stop_gradient(bias)), bias)


def dense_initializer(initializer_range: float | str | None, gain: float = 1.0) -> Any:
    """Return a truncated normal initialiser; Glorot uniform for None, or `1 / sqrt(inputs)` for `"fan_in"`.

    The last two are multiplied by `gain`.
    """
    if initializer_range is None:
        return keras.initializers.VarianceScaling(gain**2, "fan_avg", "uniform")
    if initializer_range == "fan_in":
        return keras.initializers.VarianceScaling(gain**2, "fan_in", "truncated_normal")
    if isinstance(initializer_range, str) or not is_finite(initializer_range) or initializer_range < 0:
        raise ValueError(
            f"initializer_range must be a standard deviation, None or 'fan_in': received {initializer_range!r}."
        )
    return keras.initializers.TruncatedNormal(stddev=initializer_range)


def built_dense(
    owner: DenseOwner, name: str, units: int, input_shape: tuple, gain: float = 1.0, **options: Any
) -> Dense:
    """Build a dense layer with its owner's `use_bias`, initialisers, regularisers, constraints and dtype policy.

    Args:
        owner: The layer that contains it.
        name: Name of the dense layer; `"output"` is initialised by `output_initializer_range`, if the owner has one. A
            `kernel_initializer` of the owner replaces both ranges.
        units: Width of its output.
        input_shape: Shape of its input.
        gain: As in `dense_initializer`.
        **options: Options of the dense layer, which override its owner's.

    Returns:
        A built layer.
    """
    own_range = owner.output_initializer_range if name == "output" else None
    initializer = dense_initializer(owner.initializer_range if own_range is None else own_range, gain)
    options = {"use_bias": owner.use_bias, "kernel_initializer": initializer, **dense_options(owner), **options}
    layer = Dense(int(units), dtype=owner.dtype_policy.name, name=name, **options)  # Keras takes no NumPy's integers
    layer.build(input_shape)
    return layer


def dense_options(owner: DenseOwner) -> dict[str, Any]:
    """Return the options of Keras' dense layer that the owner was given, each as a new object."""
    getters = {"initializer": keras.initializers.get, "regularizer": keras.regularizers.get}
    getters["constraint"] = keras.constraints.get
    return {name: fresh(getters[name.split("_")[1]], value) for name, value in owner.options.items()}


def without_length(x: Tensor) -> Tensor:
    """Reshape (B, T, D) to (B * T, D): on three axes TensorFlow's dense layer runs ten small ops to compute sizes."""
    return ops.reshape(x, (-1, x.shape[-1]))


def with_length(flat: Tensor, length: Tensor | int) -> Tensor:
    """Reshape (B * T, D) to (B, T, D)."""
    return ops.reshape(flat, (-1, length, flat.shape[-1]))


def length_of(x: Tensor) -> Tensor | int:
    """Return T of (B, T, ...): an int if it is known, which adds no op to the graph."""
    return ops.shape(x)[1] if x.shape[1] is None else x.shape[1]


def find_activation(activation: Any) -> Any:
    """Return the activation function for a name, from Keras or this module, or for a configuration; a function
    unchanged.
    """
    own = {"gelu": gelu, keras.activations.gelu: gelu, "gelu_tanh": gelu_tanh, "silu": silu, "swish": silu}
    return own[activation] if activation in [*own] else keras.activations.get(activation)


@keras.saving.register_keras_serializable("keras_transformers")
def gelu(x: Tensor) -> Tensor:
    """Compute exact GELU. On TensorFlow with `erf`, as TensorFlow's GELU uses `erfc`, for which ONNX has no operator.

    On CPUs either is fused with the product before it, with the same digits. Half precision keeps `erfc`, which is more
    exact below zero.
    """
    if keras.backend.backend() != "tensorflow" or x.dtype != "float32":
        return keras.activations.gelu(x)
    import tensorflow as tf

    return 0.5 * x * (1.0 + tf.math.erf(x * math.sqrt(0.5)))


def lean_gelu(x: Tensor) -> Tensor:
    """Compute exact GELU for training: on TensorFlow its gradient is computed from `x` alone.

    TensorFlow's own gradient keeps four more arrays of the size of `x` for the backward pass. Its GELU uses `erfc`,
    three times as slow as `erf`, nine times in bfloat16, where float32 is also more exact. Not for inference, where
    GELU is fused with the product before it, which this prevents.
    """
    if keras.backend.backend() != "tensorflow":
        return keras.activations.gelu(x)
    import tensorflow as tf

    wide = keras.backend.result_type(x.dtype, "float32")

    def half_erf(x):  # integral of the normal density from 0 to x
        return 0.5 * tf.math.erf(x * math.sqrt(0.5))

    def gelu(x):
        def gradient(upstream):
            # Of -x, as TensorFlow merges equal ops, and would keep the arrays of the forward pass; after `upstream`, as
            # it would run ops that need x alone as early as in the forward pass.
            with tf.control_dependencies([upstream]):
                minus = tf.cast(-x, wide)
            density = tf.exp(tf.square(minus) * -0.5) * (1 / math.sqrt(2 * math.pi))
            return (upstream * tf.cast(0.5 - (half_erf(minus) + minus * density), x.dtype),)

        return x * tf.cast(0.5 + half_erf(tf.cast(x, wide)), x.dtype), gradient

    return custom_gradient(gelu)(x)


@keras.saving.register_keras_serializable("keras_transformers")
def gelu_tanh(x: Tensor) -> Tensor:
    """Compute GELU by its tanh approximation; registered with Keras, so that a layer that uses it can be saved."""
    return keras.activations.gelu(x, approximate=True)


@keras.saving.register_keras_serializable("keras_transformers")
def silu(x: Tensor) -> Tensor:
    """Compute x * sigmoid(x). `tf.nn.silu` registers a gradient for each graph, which is then never freed."""
    if keras.backend.backend() != "tensorflow":
        return keras.activations.silu(x)
    import tensorflow as tf

    def function(x):
        def gradient(upstream):
            with tf.control_dependencies([upstream]):  # otherwise the sigmoid of the forward pass would be kept
                share = tf.sigmoid(x)
            return (upstream * (share * (1 + x * (1 - share))),)

        return x * tf.sigmoid(x), gradient

    return custom_gradient(function)(x)
