from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy
from layer_checks import check_layer

from keras_transformers.layers import Recurrence

B, T, D, U = 2, 5, 4, 6
POSITIONS = np.array([[0, 1, 2, 3, 4], [0, 1, 0, 1, 2]], "int32")
MASK = np.array([[[True] * 5], [[True, True, True, False, False]]])
KINDS = {"simple_rnn": keras.layers.SimpleRNN, "gru": keras.layers.GRU, "lstm": keras.layers.LSTM}
each_kind = pytest.mark.parametrize("kind", KINDS)


def states(kind, seed=3, units=U):
    names = ("key", "value") if kind == "lstm" else ("key",)
    return {name: normal(B, units, seed=seed + index) for index, name in enumerate(names)}


@pytest.mark.integration
@each_kind
@pytest.mark.parametrize("case", ["decoder", "both ways", "one way", "first", "cached"])
def test_layer(kind, case, tmp_path):
    options, arguments = {"kind": kind, "units": U}, {"hidden_states": normal(B, T, D), "positions": POSITIONS}
    if case in ("both ways", "one way"):
        options |= {"bidirectional": case == "both ways", "activation": "relu", "use_bias": False}
        arguments = {"hidden_states": normal(B, T, D), "attention_mask": MASK}
    if case == "first":
        options, arguments = options | {"carries_first": True, "units": D}, arguments | {"first": states(kind, units=D)}
    if case == "cached":
        cache = {name: np.repeat(state[:, None, None], 7, axis=2) for name, state in states(kind).items()}
        arguments |= {"positions": 1 + POSITIONS[:1].repeat(B, 0), "cache": cache}
        arguments |= {"cache_positions": arguments["positions"]}
    check_layer(Recurrence, options, arguments, tmp_path)


@pytest.mark.integration(quick=["lstm", "simple_rnn"])
@each_kind
def test_it_is_the_layer_of_keras(kind):
    """One text a row, and no dense layer behind."""
    ours, theirs = Recurrence(kind, D), KINDS[kind](D, return_sequences=True)
    x = normal(B, T, D)
    ours(x, positions=np.arange(T)[None])
    theirs(x)
    theirs.set_weights([to_numpy(weight) for weight in randomize(ours).weights])
    output, cache = ours(x, positions=np.arange(T)[None], return_cache=True)
    np.testing.assert_allclose(to_numpy(output), to_numpy(theirs(x)), atol=1e-6)
    np.testing.assert_array_equal(to_numpy(cache["key"])[:, 0], to_numpy(output))


@pytest.mark.integration
@each_kind
def test_both_ways_are_those_of_keras(kind):
    """Keras' wrapper takes the mask to find where the text ends."""
    ours, x = Recurrence(kind, 2 * U, bidirectional=True), normal(B, T, 2 * U)
    ours(x, attention_mask=MASK)
    randomize(ours)
    theirs = keras.layers.Bidirectional(KINDS[kind](U, return_sequences=True))
    theirs(x)
    theirs.set_weights([to_numpy(weight) for weight in ours.weights])
    expected = to_numpy(theirs(x, mask=MASK[:, 0]))
    np.testing.assert_allclose(to_numpy(ours(x, attention_mask=MASK))[MASK[:, 0]], expected[MASK[:, 0]], atol=1e-6)


@pytest.mark.integration(quick=["simple_rnn"])
@each_kind
def test_a_text_begins_anew_with_the_first_states(kind):
    layer, x = Recurrence(kind, U, carries_first=True), normal(B, T, D)
    layer(x, positions=POSITIONS, first=states(kind))
    randomize(layer)
    output = to_numpy(layer(x, positions=POSITIONS, first=states(kind)))
    alone = to_numpy(layer(x[:, 2:], positions=np.arange(3)[None], first=states(kind)))
    np.testing.assert_allclose(output[1, 2:], alone[1], atol=1e-6)
    others = to_numpy(layer(x, positions=POSITIONS, first=states(kind, seed=30)))
    assert np.abs(output - others).max(axis=-1).min() > 1e-4


def test_first_states_go_by_their_names():
    layer, x, first = Recurrence("lstm", U, carries_first=True), normal(B, T, D), states("lstm")
    expected = layer(x, positions=POSITIONS, first=first)
    found = layer(x, positions=POSITIONS, first=dict(reversed(first.items())))
    np.testing.assert_array_equal(to_numpy(found), to_numpy(expected))


@pytest.mark.integration
def test_without_a_mask_all_tokens_are_real():
    """With an activation of our own, which Keras does not know by this name."""
    layer, x = Recurrence("gru", U, bidirectional=True, activation="gelu_tanh"), normal(B, T, D)
    found, expected = layer(x), layer(x, attention_mask=np.ones((B, 1, T), bool))
    np.testing.assert_array_equal(to_numpy(found), to_numpy(expected))


def test_errors():
    with pytest.raises(ValueError, match=r"kind must be one of .*'lstm'.*received 'rnn'"):
        Recurrence("rnn", 4)
    with pytest.raises(ValueError, match="units of a bidirectional layer must be an even number: received 5"):
        Recurrence("gru", 5, bidirectional=True)
