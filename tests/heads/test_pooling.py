from __future__ import annotations

import keras
import numpy as np
from arrays import normal, randomize, to_numpy
from bert_model import small_config

from keras_transformers.heads import next_sentence_head, pooler


def test_pooler_is_a_dense_layer_with_tanh_on_the_first_token():
    inputs = keras.Input((None, 16))
    model = randomize(keras.Model(inputs, pooler(small_config(), inputs)))
    hidden_states = normal(2, 3, 16)
    kernel, bias = to_numpy(model.weights)
    np.testing.assert_allclose(to_numpy(model(hidden_states)), np.tanh(hidden_states[:, 0] @ kernel + bias), atol=1e-5)


def test_next_sentence_is_a_dense_layer_of_two():
    inputs = keras.Input((16,))
    model = randomize(keras.Model(inputs, next_sentence_head(small_config(), inputs)))
    pooled = normal(2, 16)
    kernel, bias = to_numpy(model.weights)
    np.testing.assert_allclose(to_numpy(model(pooled)), pooled @ kernel + bias, atol=1e-5)
    assert kernel.shape == (16, 2)
