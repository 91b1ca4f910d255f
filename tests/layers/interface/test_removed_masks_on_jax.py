"""A mask that Keras has removed in a program of JAX, where tensors are tracers."""

from __future__ import annotations

import jax
import keras
import numpy as np

from keras_transformers.utils import keras_private


def test_a_mask_that_keras_removed_in_a_program():
    found = []

    def program(array):
        x = keras.layers.Masking()(array)
        found.append(keras_private.mask_is_removed(x))
        keras.src.backend.set_keras_mask(x, None)
        found.append(keras_private.mask_is_removed(x))
        found.append(keras_private.mask_is_removed(array))
        return x

    jax.jit(program)(np.array([[[1.0], [0.0]]], "float32"))
    assert found == [False, True, False]
