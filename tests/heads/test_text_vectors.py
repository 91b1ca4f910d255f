"""Ways of pooling, beside plain NumPy over the tokens of each text."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.heads.text_vectors import POOLINGS, pooled

BY_HAND = {
    "mean": lambda tokens, places: tokens.mean(0),
    "first": lambda tokens, places: tokens[0],
    "last": lambda tokens, places: tokens[-1],
    "max": lambda tokens, places: tokens.max(0),
    "weighted_mean": lambda tokens, places: (tokens * places[:, None]).sum(0) / places.sum(),
    "mean_sqrt_length": lambda tokens, places: tokens.sum(0) / len(tokens) ** 0.5,
}
LENGTHS, LEFT_OUT = [5, 3, 1, 4], [0, 2, 0, 3]
STATES = normal(4, 5, 6)
MASK = (np.arange(5) < np.array(LENGTHS)[:, None]).astype("int32")


def by_hand(way: str, left_out: list[int]) -> np.ndarray:
    rows = zip(STATES, LENGTHS, left_out, strict=True)
    return np.stack([BY_HAND[way](row[start:end], np.arange(start + 1, end + 1)) for row, end, start in rows])


@pytest.mark.parametrize("way", POOLINGS)
def test_each_way(way):
    np.testing.assert_allclose(to_numpy(pooled([way], STATES, MASK)), by_hand(way, [0] * 4), atol=1e-6)
    cut = to_numpy(pooled([way], STATES, MASK, np.array(LEFT_OUT)))
    np.testing.assert_allclose(cut, by_hand(way, LEFT_OUT), atol=1e-6)


def test_several_side_by_side_in_a_model():
    inputs = [keras.Input((None, 6)), keras.Input((None,), dtype="int32"), keras.Input((), dtype="int32")]
    ways = ["last", "mean", "max"]
    model = keras.Model(inputs, pooled(ways, *inputs))
    assert model.output.shape == (None, 18)
    expected = np.concatenate([by_hand(way, LEFT_OUT) for way in ways], axis=1)
    np.testing.assert_allclose(to_numpy(model([STATES, MASK, np.array(LEFT_OUT)])), expected, atol=1e-6)


def test_a_text_of_a_prompt_alone_has_finite_vectors():
    vectors = to_numpy(pooled([*POOLINGS], STATES, MASK, np.array(LENGTHS)))
    assert np.isfinite(vectors).all()
