from __future__ import annotations

import keras
import numpy as np
from arrays import normal, randomize, to_numpy
from bert_model import small_config

from keras_transformers.heads import last_token, pooler


def test_pooler_is_a_dense_layer_with_tanh_on_the_first_token():
    inputs = keras.Input((None, 16))
    model = randomize(keras.Model(inputs, pooler(small_config(), inputs)))
    hidden_states = normal(2, 3, 16)
    kernel, bias = to_numpy(model.weights)
    np.testing.assert_allclose(to_numpy(model(hidden_states)), np.tanh(hidden_states[:, 0] @ kernel + bias), atol=1e-5)


def test_last_token():
    states = np.arange(24.0, dtype="float32").reshape(4, 3, 2)
    mask = np.array([[1, 1, 1], [1, 2, 0], [1, 0, 0], [0, 0, 0]])  # the second row holds two texts, the last none
    pooled = to_numpy(last_token(states, mask))
    np.testing.assert_array_equal(pooled, [states[0, 2], states[1, 1], states[2, 0], states[3, 0]])


def test_last_token_takes_no_notice_of_padding():
    inputs = [keras.Input((None, 2)), keras.Input((None,), dtype="int32")]
    model = keras.Model(inputs, last_token(*inputs))
    states = normal(2, 5, 2)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0]])
    cut = model([states[:, :3], mask[:, :3]])
    np.testing.assert_array_equal(to_numpy(model([states, mask])), to_numpy(cut))


def test_a_pooler_that_is_the_first_layer_of_a_classifier():
    """DistilBERT's: ReLU, and no negative number; with a dropout before it in training, as RoBERTa's has."""
    inputs = keras.Input((None, 16))
    config = small_config(pooler_activation="relu", pooler_dropout=0.5)
    model = randomize(keras.Model(inputs, pooler(config, inputs)))
    states = np.random.default_rng(0).normal(size=(2, 3, 16)).astype("float32")
    layer = model.get_layer("pooler")
    kernel, bias = (np.array(weight) for weight in layer.weights)
    np.testing.assert_allclose(to_numpy(model(states)), np.maximum(states[:, 0] @ kernel + bias, 0), atol=1e-5)
    assert np.abs(to_numpy(model(states, training=True)) - to_numpy(model(states))).max() > 1e-3
