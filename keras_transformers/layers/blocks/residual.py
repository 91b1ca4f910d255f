"""Residual connections and norms ("add & norm")."""

from __future__ import annotations

from collections.abc import Callable

import keras

from keras_transformers.layers.core.layer_norm import LayerNormalization
from keras_transformers.layers.interface.input_checks import check_choice, check_positive
from keras_transformers.utils.tensor_types import Tensor


def residual(
    hidden_states: Tensor, sublayer: Callable, norm: Callable | None, dropout: Callable, norm_order: str
) -> tuple:
    """Compute one sublayer with its residual connection.

    Post-norm is the paper's and BERT's, `norm(x + dropout(sublayer(x)))`; pre-norm is GPT-2's,
    `x + dropout(sublayer(norm(x)))`.

    Args:
        hidden_states: (B, T, D).
        sublayer: Takes (B, T, D); returns (B, T, D), or a tuple with that as its first member.
        norm: The normalisation; None if the block has none.
        dropout: The dropout on the sublayer's output.
        norm_order: `"post"` or `"pre"`.

    Returns:
        A tuple: the new hidden states (B, T, D), and the sublayer's other results.

    Example:

    >>> residual(np.array([2.0]), lambda x: (3 * x, "more"), lambda x: x / 8, lambda x: x, "post")
    (array([1.]), 'more')
    """
    norm = norm or (lambda x: x)
    outputs = sublayer(norm(hidden_states) if norm_order == "pre" else hidden_states)
    output, *more = outputs if isinstance(outputs, tuple) else (outputs,)
    added = hidden_states + dropout(output)  # (B, T, D)
    return (added if norm_order == "pre" else norm(added), *more)


def make_norm(norm: str, epsilon: float, dtype: str, name: str, use_bias: bool = True) -> keras.layers.Layer:
    """Return a layer or RMS normalisation over the last axis.

    Args:
        norm: `"layer"` (https://arxiv.org/abs/1607.06450) or `"rms"` (https://arxiv.org/abs/1910.07467).
        epsilon: Added to the variance.
        dtype: Name of a dtype policy.
        name: Name of the layer.
        use_bias: Whether a layer norm adds a learned offset.

    Returns:
        A Keras layer.

    Raises:
        ValueError: The norm is unknown, or epsilon is no positive number.
    """
    check_choice(norm, ("layer", "rms"), "norm")
    check_positive(epsilon=epsilon)
    if norm == "layer":
        return LayerNormalization(epsilon=epsilon, center=use_bias, dtype=dtype, name=name)
    layer = keras.layers.RMSNormalization(epsilon=epsilon, dtype=dtype, name=name)
    layer.supports_masking = True  # Keras' own layer does not set it, and would warn
    return layer
