"""Layer and RMS normalisation, over the last axis."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_transformers.layers.interface.input_checks import check_choice, check_positive
from keras_transformers.utils.tensor_types import Tensor


@keras.saving.register_keras_serializable("keras_transformers")
class LayerNormalization(keras.layers.LayerNormalization):
    """Keras' layer normalisation, with fewer passes over the input if it is over the last axis.

    Without a compiler each pass reads and writes the whole input: on a CPU this takes 0.6 to 0.7 of the time of Keras'
    formula, `x * inverse + (beta - mean * inverse)`. It is computed in float32 or better. It has
    the name of Keras' class, because .weights.h5 files use that name in the paths of weights.
    Paper: Ba et al. 2016, https://arxiv.org/abs/1607.06450.

    Args:
        epsilon, center, scale, axis: As in `keras.layers.LayerNormalization`, as are all others.

    Call arguments:
        inputs: (..., D).

    Example:

    >>> np.array(LayerNormalization(epsilon=1e-12)(np.array([[1.0, 3.0]], "float32"))).tolist()
    [[-1.0, 1.0]]
    """

    def build(self, input_shape: Any) -> None:
        warn_of_single_numbers(self, input_shape, "gives the same output for all inputs")
        super().build(input_shape)

    def call(self, inputs: Tensor) -> Tensor:
        if self.axis not in ([-1], [len(inputs.shape) - 1]) or getattr(self, "rms_scaling", False):
            return super().call(inputs)
        x = ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        centred = x - ops.mean(x, axis=-1, keepdims=True)  # (..., D)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)  # (..., 1)

        normed = centred * ops.rsqrt(variance + self.epsilon)  # (..., D)
        if self.gamma is not None:
            normed = normed * ops.cast(self.gamma, x.dtype)
        if self.beta is not None:
            normed = normed + ops.cast(self.beta, x.dtype)
        return ops.cast(normed, self.compute_dtype)


@keras.saving.register_keras_serializable("keras_transformers")
class RMSNormalization(keras.layers.RMSNormalization):
    """Keras' RMS normalisation, which passes on the mask of its input, and warns of a width of 1.

    It has the name of Keras' class, because .weights.h5 files use that name in the paths of weights.
    Paper: Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467.

    Args:
        axis, epsilon: As in `keras.layers.RMSNormalization`.

    Call arguments:
        x: (..., D).

    Example:

    >>> np.array(RMSNormalization(epsilon=1e-12)(np.array([[3.0, 3.0]], "float32"))).tolist()
    [[1.0, 1.0]]
    """

    def __init__(self, axis: Any = -1, epsilon: float = 1e-6, **kwargs: Any):
        super().__init__(axis=axis, epsilon=epsilon, **kwargs)
        self.supports_masking = True  # Keras' own layer does not set it, and would warn

    def build(self, input_shape: Any) -> None:
        warn_of_single_numbers(self, input_shape, "keeps nothing but the signs of its input")
        super().build(input_shape)


@keras.saving.register_keras_serializable("keras_transformers")
class OffsetRMSNormalization(keras.layers.Layer):
    """RMS normalisation whose weights are offsets from 1: `x / rms(x) * (1 + scale)`, computed in float32 or better.

    Use it for Gemma. Weights near 0 keep digits in half precision that weights near 1 would lose, and weight decay
    pulls the factor to 1.
    Paper: Gemma Team 2024, https://arxiv.org/abs/2403.08295.

    Args:
        epsilon: As in `keras.layers.RMSNormalization`.

    Call arguments:
        inputs: (..., D).

    Example:

    >>> np.array(OffsetRMSNormalization(epsilon=1e-12)(np.array([[3.0, 3.0]], "float32"))).tolist()
    [[1.0, 1.0]]
    """

    axis = -1

    def __init__(self, epsilon: float = 1e-6, **kwargs: Any):
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        warn_of_single_numbers(self, input_shape, "keeps nothing but the signs of its input")
        self.scale = self.add_weight(shape=input_shape[-1:], initializer="zeros", autocast=False, name="scale")

    def call(self, inputs: Tensor) -> Tensor:
        x = ops.cast(inputs, keras.backend.result_type(inputs.dtype, "float32"))
        normed = x * ops.rsqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + self.epsilon)  # (..., D)
        return ops.cast(normed * (1 + ops.cast(self.scale, x.dtype)), self.compute_dtype)


NORMS: Mapping[str, type[keras.layers.Layer]] = {"rms": RMSNormalization, "offset_rms": OffsetRMSNormalization}


def make_norm(norm: str, epsilon: float, dtype: str, name: str, use_bias: bool = True) -> keras.layers.Layer:
    """Return a layer or RMS normalisation over the last axis.

    Args:
        norm: `"layer"` (https://arxiv.org/abs/1607.06450), `"rms"` (https://arxiv.org/abs/1910.07467) or `"offset_rms"`
            (Gemma).
        epsilon: Added to the variance.
        dtype: Name of a dtype policy.
        name: Name of the layer.
        use_bias: Whether a layer norm adds a learned offset.

    Returns:
        A Keras layer.

    Raises:
        ValueError: The norm is unknown, or epsilon is no positive number.
    """
    check_choice(norm, ("layer", *NORMS), "norm")
    check_positive(epsilon=epsilon)
    if norm == "layer":
        return LayerNormalization(epsilon=epsilon, center=use_bias, dtype=dtype, name=name)
    return NORMS[norm](epsilon=epsilon, dtype=dtype, name=name)


def warn_of_single_numbers(norm: keras.layers.Layer, shape: Any, effect: str) -> None:
    """Warn of a norm over one number, such as that of a series (B, T, 1).

    Args:
        norm: The normalisation, with its `axis`.
        shape: Shape of its input.
        effect: Effect of such a norm, for the error message.

    Example:

    >>> warn_of_single_numbers(LayerNormalization(), (None, 3, 8), "is of no use")
    """
    axes = norm.axis if isinstance(norm.axis, (list, tuple)) else [norm.axis]
    if math.prod(0 if shape[axis] is None else shape[axis] for axis in axes) == 1:
        warnings.warn(
            f"a {type(norm).__name__} over one number {effect}: the input is {tuple(shape)}, and axis={norm.axis}. "
            "Widen the input first, keras.layers.Dense(32)(x), for a norm, or a block with norms, of that width.",
            stacklevel=3,
        )
