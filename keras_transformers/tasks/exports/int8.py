"""Weights of 8 bits for exports: the large matrices of a model, rounded, with its table of tokens."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

import keras
import numpy as np
from keras import ops

from keras_transformers.config.transformer_config import TransformerConfig
from keras_transformers.layers import TokenEmbedding
from keras_transformers.layers.core.dense import Dense
from keras_transformers.layers.core.int8_weights import Int8Matrix, int8_matrices, rounded
from keras_transformers.layers.core.table_rows import take_rows
from keras_transformers.utils.keras_private import all_layers, kernel
from keras_transformers.utils.tensor_types import Tensor

# Matrices with fewer rows or columns, such as the last of a classifier, stay as they are.
LEAST_SIDE = 64
# So do smaller ones where a step reads one token of each text: a call of XLA costs more than the product saves. Two
# cores with AVX-512 take for one row 0.15 ms in float32 and 0.10 in 8 bits at 768 x 768; 256 x 256 is slower in 8 bits.
LEAST_OF_STEP = 2**19
SAMPLE = 8, 32  # rows and tokens that activations are measured with


class Int8Weights:
    """The weights of a model, of which the large matrices and the table of tokens have 8 bits a number.

    Activations are measured with random tokens, whose vectors have the same large channels as the vectors of texts.

    Args:
        model: The model, which stays as it is.
        config: Configuration of the model.
        max_length: Tokens of a row, at most.
        least: Numbers of a matrix that is rounded.

    Raises:
        ValueError: No matrix is large enough, or a weight or an activation is not finite.

    Attributes:
        matrices: The rounded matrix of each layer.
        variables: All TensorFlow variables that the model needs with them.

    Example:

    >>> from keras_transformers.families import bert
    >>> from keras_transformers.models import encoder
    >>> config = bert(vocabulary_size=100, num_layers=1, num_heads=2, hidden_dim=64)
    >>> weights = Int8Weights(encoder(config), config, 32)
    >>> sorted(str(variable.dtype.name) for variable in weights.variables).count("int8")
    7
    """

    def __init__(self, model: keras.Model, config: TransformerConfig, max_length: int, least: int = 0):
        matrices = {layer: variable for layer in all_layers(model) if (variable := _matrix(layer)) is not None}
        sources = {layer: variable for layer, variable in matrices.items() if math.prod(variable.shape) >= least}
        if not sources:
            sides = f"{LEAST_SIDE} rows and columns" + (f" and {least:,} numbers" if least else "")
            raise ValueError(
                f'compute="int8" rounds floating-point matrices of at least {sides}: the model has none. Leave it out.'
            )
        measured = {layer: _Measured(layer) for layer in sources}
        with int8_matrices(measured):
            model(_random_tokens(model, config, max_length), training=False)
        self.matrices: dict[keras.layers.Layer, Int8Matrix] = {}
        for layer, variable in sources.items():
            values = ops.convert_to_numpy(ops.cast(variable, "float32"))
            values = values.T if isinstance(layer, Dense) else values  # (N, K)
            self.matrices[layer] = rounded(values, measured[layer].largest)
        replaced = {id(variable) for variable in sources.values()}
        parts = [part for matrix in self.matrices.values() for part in matrix if part is not None]
        self.variables = [variable.value for variable in model.variables if id(variable) not in replaced] + parts

    def in_use(self) -> AbstractContextManager[None]:
        """Let the layers of the model compute with these weights, in functions that are traced inside."""
        return int8_matrices(self.matrices)


class _Measured:
    """The matrix of a layer as it is, and the largest activations of its input channels."""

    def __init__(self, layer: Dense | TokenEmbedding):
        self.layer = layer
        self.largest: np.ndarray | None = None  # (K,)

    def product(self, x: Tensor) -> Tensor:
        """Return (..., N) for (..., K)."""
        values = np.abs(ops.convert_to_numpy(ops.cast(x, "float32"))).reshape(-1, x.shape[-1])  # (R, K)
        largest = values.max(axis=0, initial=0)
        self.largest = largest if self.largest is None else np.maximum(self.largest, largest)
        if isinstance(self.layer, Dense):
            return ops.matmul(x, self.layer.kernel)
        return ops.matmul(x, ops.transpose(ops.cast(self.layer.embeddings, x.dtype)))

    def rows(self, ids: Tensor, dtype: str) -> Tensor:
        """Return the rows (..., K) of ids (...)."""
        return take_rows(self.layer.embeddings, ids, dtype)


def _matrix(layer: keras.layers.Layer) -> keras.Variable | None:
    """Return the kernel or the table of a layer, if it has so many rows and columns that it may be rounded."""
    if not isinstance(layer, (Dense, TokenEmbedding)):
        return None
    variable = kernel(layer) if isinstance(layer, Dense) else layer.embeddings
    is_float = keras.backend.is_float_dtype(variable.dtype)  # not after Keras' `quantize`
    return variable if is_float and min(variable.shape) >= LEAST_SIDE else None


def _random_tokens(model: keras.Model, config: TransformerConfig, max_length: int) -> dict[str, np.ndarray]:
    """Return inputs of a model: random tokens, without padding."""
    draws = np.random.default_rng(0)
    rows, tokens = SAMPLE[0], min(SAMPLE[1], max_length)
    inputs = {}
    for name, symbol in model.input.items():
        sizes = (rows, 1, tokens) if len(symbol.shape) == 3 else (rows, tokens)  # (B, C, T) of choices
        shape = [size or default for size, default in zip(symbol.shape, sizes, strict=True)]
        if name.endswith("token_ids"):
            is_source = name.startswith("encoder_") and config.encoder_vocabulary_size
            size = config.encoder_vocabulary_size if is_source else config.vocabulary_size
            inputs[name] = draws.integers(0, size, shape, "int32")
        else:
            inputs[name] = np.full(shape, name.endswith("padding_mask"), "int32")
    return inputs
