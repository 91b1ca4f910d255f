from __future__ import annotations

import keras
import numpy as np
from arrays import normal, randomize, to_numpy
from bert_model import small_config

from keras_transformers.heads import next_sentence_head


def test_next_sentence_is_a_dense_layer_of_two():
    inputs = keras.Input((16,))
    model = randomize(keras.Model(inputs, next_sentence_head(small_config(), inputs)))
    pooled = normal(2, 16)
    kernel, bias = to_numpy(model.weights)
    np.testing.assert_allclose(to_numpy(model(pooled)), pooled @ kernel + bias, atol=1e-5)
    assert kernel.shape == (16, 2)


def test_its_name_and_dtype_are_those_of_the_checkpoint():
    inputs = keras.Input((16,))
    layer = keras.Model(inputs, next_sentence_head(small_config(), inputs, "mixed_bfloat16")).layers[-1]
    assert (layer.name, layer.compute_dtype, layer.variable_dtype) == ("next_sentence", "bfloat16", "float32")
