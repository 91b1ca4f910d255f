"""The layers that heads begin with: one option says which heads have them."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from bert_model import small_config

from keras_transformers.heads import masked_lm_head, pooler, span_head, text_classification_head
from keras_transformers.heads import token_classification_head as token_head
from keras_transformers.heads.transform import transform
from keras_transformers.layers import TokenEmbedding

ALL = {"head_transform": "all", "head_bias": False, "pooler_activation": "relu", "activation": "tanh"}
MASK = np.array([[1, 1, 1, 0], [1, 0, 0, 0]])


def names(model):
    return [weight.path for weight in model.weights]


def after_transform(x, kernel, gamma, beta, epsilon):
    x = np.maximum(x @ kernel, 0)
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * gamma + beta


def test_a_dense_layer_an_activation_and_a_norm():
    config, inputs = small_config(**ALL), keras.Input((None, 16))
    layers = {
        "name": "pooler",
        "units": config.hidden_dim,
        "activation": config.pooler_activation,
        "norm_name": "pooler_norm",
    }
    model = randomize(keras.Model(inputs, transform(config, inputs, **layers)))
    x = normal(2, 3, 16)
    expected = after_transform(x, *map(to_numpy, model.weights), config.epsilon)
    np.testing.assert_allclose(to_numpy(model(x)), expected, atol=1e-4)
    assert names(model) == ["pooler/kernel", "pooler_norm/gamma", "pooler_norm/beta"]
    bare = keras.Model(inputs, transform(config.replace(use_bias=False), inputs, **layers))
    assert names(bare) == ["pooler/kernel", "pooler_norm/gamma"]


def test_heads_on_tokens_have_it_where_all_heads_do():
    states, mask = keras.Input((None, 16)), keras.Input((None,), dtype="int32")
    usual, every = small_config(), small_config(**ALL)
    first = ["pooler/kernel", "pooler_norm/gamma", "pooler_norm/beta"]
    for make, last in ((lambda config: token_head(config, states, 3), "classifier"),
                       (lambda config: span_head(config, states, mask), "qa_outputs")):  # fmt: skip
        assert names(keras.Model([states, mask], make(usual))) == [f"{last}/kernel", f"{last}/bias"]
        assert names(keras.Model([states, mask], make(every))) == [*first, f"{last}/kernel", f"{last}/bias"]


@pytest.mark.parametrize(("options", "drops"), [({}, False), (ALL, True)])
def test_questions_have_the_dropout_of_classifiers_there(options, drops):
    states, mask = keras.Input((None, 16)), keras.Input((None,), dtype="int32")
    model = keras.Model([states, mask], span_head(small_config(classifier_dropout=0.5, **options), states, mask))
    given = [normal(2, 4, 16), MASK]
    trained, used = (to_numpy(model(given, training=training)) for training in (True, False))
    assert np.allclose(trained, used) != drops


def masked(config):
    states, positions = keras.Input((None, 16)), keras.Input((None,), dtype="int32")
    embedding = TokenEmbedding(30, 16, name="token_embedding")
    embedding.build((None, None))
    return randomize(keras.Model([states, positions], masked_lm_head(config, embedding, states, positions)))


def test_the_masked_lm_has_the_activation_of_the_other_heads():
    states, positions = normal(2, 3, 16), np.array([[0, 2], [1, 1]])
    model = masked(small_config(**ALL))
    kernel, gamma, beta, table, bias = (
        to_numpy(next(weight for weight in model.weights if weight.path == path))
        for path in ("masked_lm_dense/kernel", "masked_lm_norm/gamma", "masked_lm_norm/beta",
                     "token_embedding/embeddings", "masked_lm_bias/bias")
    )  # fmt: skip
    chosen = np.take_along_axis(states, positions[..., None], axis=1)
    expected = after_transform(chosen, kernel, gamma, beta, small_config().epsilon) @ table.T + bias
    np.testing.assert_allclose(to_numpy(model([states, positions])), expected, atol=1e-3)


@pytest.mark.parametrize(("tied", "path"), [(True, "token_embedding/embeddings"), (False, "lm_head/kernel")])
def test_a_masked_lm_without_it_is_an_output_layer(tied, path):
    model = masked(small_config(head_transform="none", tie_embeddings=tied))
    states, positions = normal(2, 3, 16), np.array([[0, 2], [1, 1]])
    assert names(model) == [path]
    matrix = to_numpy(model.weights[0])
    chosen = np.take_along_axis(states, positions[..., None], axis=1)
    expected = chosen @ (matrix.T if tied else matrix)
    np.testing.assert_allclose(to_numpy(model([states, positions])), expected, atol=1e-4)


def test_the_last_token_is_read_by_one_layer_without_bias():
    inputs, mask = keras.Input((None, 16)), keras.Input((None,), dtype="int32")
    head = text_classification_head(small_config(classifier_pooling="last"), inputs, mask, 3)
    model = randomize(keras.Model([inputs, mask], head))
    (kernel,) = map(to_numpy, model.weights)
    states = normal(2, 4, 16)
    expected = states[[0, 1], MASK.sum(1) - 1] @ kernel
    np.testing.assert_allclose(to_numpy(model([states, MASK])), expected, atol=1e-4)


@pytest.mark.parametrize("pooling", ["first", "mean", "late"])
def test_what_a_classifier_reads(pooling):
    config = small_config(classifier_pooling=pooling, pooler_activation="tanh")
    inputs, mask = keras.Input((None, 16)), keras.Input((None,), dtype="int32")
    model = randomize(keras.Model([inputs, mask], text_classification_head(config, inputs, mask, 3)))
    dense, bias, kernel, last = map(to_numpy, model.weights)
    states, real = normal(2, 4, 16), MASK[..., None]

    def head(x):
        return np.tanh(x @ dense + bias) @ kernel + last

    expected = {
        "first": head(states[:, 0]),
        "mean": head((states * real).sum(1) / real.sum(1)),
        "late": (head(states) * real).sum(1) / real.sum(1),
    }
    np.testing.assert_allclose(to_numpy(model([states, MASK])), expected[pooling], atol=1e-4)


@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_some_need_to_know_the_padding(pooling):
    with pytest.raises(ValueError, match=f'"{pooling}" needs .* give padding_mask'):
        pooler(small_config(classifier_pooling=pooling), keras.Input((None, 16)))
