"""Counts of layers, against numbers worked out by hand and by others."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from keras_transformers.analysis.cost.complexity import Complexity, complexity
from keras_transformers.layers import Attention, EncoderBlock

T, D = 7, 4


def counted(layer, length=T, batch=1, **options) -> Complexity:
    return complexity(layer, keras.KerasTensor((batch, length, D)), **options)


def recurrent(kind, **options):
    return getattr(layers, kind)(D, return_sequences=True, **options)


# Multiply-adds a position of D = 4, of weights; longest chain for T = 7.
BY_HAND = {
    "dense": (lambda: layers.Dense(3), 4 * 3, 1),
    "two dense": (lambda: keras.Sequential([layers.Dense(3), layers.Dense(5)]), 4 * 3 + 3 * 5, 2),
    "side by side": (lambda: layers.Bidirectional(recurrent("SimpleRNN")), 4 * 4 * 4, T),
    "rnn": (lambda: recurrent("SimpleRNN"), 2 * 4 * 4, T),
    "lstm": (lambda: recurrent("LSTM", use_cudnn=False), 8 * 4 * 4, T),
    "gru": (lambda: recurrent("GRU", use_cudnn=False), 6 * 4 * 4, T),
    # A gate that resets the state before its product: two products of one step wait for each other.
    "gru, reset before": (lambda: recurrent("GRU", use_cudnn=False, reset_after=False), 6 * 4 * 4, 2 * T),
    "unrolled": (lambda: recurrent("SimpleRNN", unroll=True), 2 * 4 * 4, T),
    "stack": (lambda: layers.RNN([layers.SimpleRNNCell(4)] * 2, return_sequences=True), 4 * 4 * 4, T + 1),
    "convolution": (lambda: layers.Conv1D(5, 3, padding="causal"), 3 * 4 * 5, 1),
    "groups": (lambda: layers.Conv1D(6, 3, padding="same", groups=2), 3 * 2 * 6, 1),
    "attention": (lambda: Attention(2), 4 * 4 * 4, 4),
    "attention, grouped heads": (lambda: Attention(4, num_kv_heads=2), 2 * 4 * 4 + 2 * 4 * 2, 4),
    "block": (lambda: EncoderBlock(2, 16), 4 * 4 * 4 + 2 * 4 * 16, 6),
}


@pytest.mark.integration(quick=["convolution", "dense", "two dense", "groups"])
@pytest.mark.parametrize("case", BY_HAND)
def test_products_with_weights_and_their_chain(case):
    make, products, chain = BY_HAND[case]
    found = counted(make())
    assert (found.weight_multiply_adds, found.sequential_steps) == (T * products, chain)
    assert counted(make(), batch=3).multiply_adds == 3 * found.multiply_adds


@pytest.mark.integration(quick=["dense", "convolution", "two dense", "groups"])
@pytest.mark.parametrize("case", BY_HAND)
def test_parameters_are_those_that_keras_counts_once_it_is_built(case):
    make, *_ = BY_HAND[case]
    built = make()
    built(np.zeros((1, T, D), "float32"))
    assert counted(make()).parameters == built.count_params()
    assert counted(built) == counted(make())  # and a layer with values is counted as well


@pytest.mark.parametrize("length", [2, 7, 33])
def test_scores_and_mixing_of_attention(length):
    assert counted(Attention(2), length).mixing_multiply_adds == 2 * length**2 * D
    mask = np.tril(np.ones((1, length, length), bool))
    assert counted(Attention(2), length, attention_mask=mask).mixing_multiply_adds == 2 * length**2 * D  # saves nothing


def test_long_texts_in_chunks_take_the_same_products():
    found = counted(Attention(1), 8192)
    assert (found.mixing_multiply_adds, found.sequential_steps, found.recurrent_steps) == (2 * 8192**2 * D, 4, 0)


@pytest.mark.parametrize(
    ("case", "expected"), [("rnn", T), ("lstm", T), ("side by side", T), ("attention", 0), ("convolution", 0)]
)
def test_recurrent_steps(case, expected):
    assert counted(BY_HAND[case][0]()).recurrent_steps == expected


def test_a_loop_over_independent_parts_is_not_recurrent():
    class Chunks(layers.Layer):
        def call(self, x):
            return tf.map_fn(lambda row: tf.matmul(row, row, transpose_b=True), x[0][:, None])

    found = counted(Chunks())
    assert (found.multiply_adds, found.sequential_steps, found.recurrent_steps) == (T * D, 1, 0)


# One key gets all the weight: queries, keys and scores are not computed.
ONE_POSITION = {"attention": 64 - 32 + 4, "attention, grouped heads": 48 - 16 - 8 + 4, "block": 192 - 32 + 4}


@pytest.mark.integration(quick=["dense", "convolution", "groups", "two dense"])
@pytest.mark.parametrize("case", BY_HAND)
def test_one_position(case):
    found = counted(BY_HAND[case][0](), length=1)
    assert found.multiply_adds == ONE_POSITION.get(case, BY_HAND[case][1])
    assert found.recurrent_steps == 0
    assert found.parameters == counted(BY_HAND[case][0]()).parameters  # which do not grow with T


def test_a_loop_by_hand():
    class Power(layers.Layer):
        def call(self, x):
            gram = tf.matmul(x, x, transpose_a=True)  # (1, D, D)
            return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.matmul(y, gram)), (0, gram))[1]

    found = counted(Power())
    assert found.multiply_adds == found.mixing_multiply_adds == D * D * T + 5 * D**3
    assert (found.sequential_steps, found.recurrent_steps) == (6, 5)
    assert found.activation_bytes == 4 * (D * D + 5 * D * D)


def test_of_two_branches_the_dearer_one_counts():
    class Branches(layers.Layer):
        def call(self, x):
            def long():
                return tf.matmul(tf.matmul(x, x, transpose_b=True), x)

            return tf.cond(tf.reduce_sum(x) > 0, lambda: x, long)

    found = counted(Branches())
    assert (found.multiply_adds, found.sequential_steps) == (2 * T * T * D, 2)


def test_what_no_output_depends_on_does_not_count():
    class Idle(layers.Layer):
        def call(self, x):
            tf.matmul(x, x, transpose_b=True)
            return x + 1

    found = counted(Idle())
    assert (found.multiply_adds, found.activation_bytes, found.flops) == (0, 4 * T * D, 0)


def test_activation_bytes_of_a_dense_layer():
    """The product, its sum with the bias, and the activation."""
    assert counted(layers.Dense(3, activation="tanh")).activation_bytes == 3 * 4 * T * 3
    assert counted(layers.Dense(3, activation="tanh", dtype="float16")).activation_bytes == 2 * (
        T * D + 3 * T * 3
    )  # and a cast


def test_weights_that_are_multiplied_are_no_activations():
    class Adapted(layers.Layer):
        def build(self, shape):
            self.left, self.right = self.add_weight(shape=(D, 2)), self.add_weight(shape=(2, 3))

        def call(self, x):
            return tf.matmul(x[0], tf.matmul(self.left, self.right))

    found = counted(Adapted())
    assert (found.multiply_adds, found.mixing_multiply_adds, found.sequential_steps) == (D * 2 * 3 + T * D * 3, 0, 2)
    assert found.activation_bytes == 4 * (T * D + T * 3)  # the slice, which is a copy, and the product


def test_a_model_of_several_inputs_and_states_of_random_generators():
    inputs = {"a": keras.Input((3,), name="a"), "b": keras.Input((3,), name="b")}
    model = keras.Model(inputs, layers.Dropout(0.5)(layers.Dense(2)(inputs["a"] * inputs["b"])))
    found = complexity(model, {name: keras.KerasTensor((5, 3)) for name in inputs})
    assert (found.multiply_adds, found.mixing_multiply_adds, found.parameters) == (5 * 3 * 2, 0, 8)


@pytest.mark.parametrize(
    "inputs", [np.zeros((1, 2)), keras.KerasTensor((1, None, 4)), {}, (1, 2, 3)], ids=["array", "size", "none", "shape"]
)
def test_inputs_of_unknown_shape(inputs):
    with pytest.raises(ValueError, match=r"of fixed shape, or a dict or list.*Expected for example keras.KerasTensor"):
        complexity(layers.Dense(2), inputs)


def test_another_backend(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=r"received the backend 'jax'. Set KERAS_BACKEND=tensorflow"):
        counted(layers.Dense(2))


def test_nothing_large_is_made():
    """400 GB of weights, and a graph of a few nodes."""
    found = complexity(layers.Dense(10**6), keras.KerasTensor((1, 10**5)))
    assert found.multiply_adds == 10**11 and found.parameters == 10**11 + 10**6
