from __future__ import annotations

import itertools

import numpy as np
import pytest
from arrays import normal, to_numpy

from keras_transformers.layers.mixers.delta_rule import Heads, chunked, step

B, N, T, H, V = 2, 3, 21, 4, 5


def vectors(length=T, seed=0):
    query, key = (normal(B, N, length, H, seed=seed + index) for index in range(2))
    key = key / np.linalg.norm(key, axis=-1, keepdims=True)
    decay = -np.abs(normal(B, N, length, seed=seed + 2))
    rate = 1 / (1 + np.exp(-normal(B, N, length, seed=seed + 3)))
    return Heads(query, key, normal(B, N, length, V, seed=seed + 4), decay, rate)


def cut(heads, begin, end, rows=slice(None)):
    return Heads(*(x[rows, :, begin:end] for x in heads))


def one_by_one(heads, memory):
    """The rule as its paper has it, token by token, in float64."""
    outputs = []
    for place in range(heads.key.shape[2]):
        query, key, value, decay, rate = (np.asarray(x, "float64")[:, :, place] for x in heads)
        memory = memory * np.exp(decay)[..., None, None]
        missing = rate[..., None] * (value - np.einsum("bnh,bnhv->bnv", key, memory))
        memory = memory + np.einsum("bnh,bnv->bnhv", key, missing)
        outputs.append(np.einsum("bnh,bnhv->bnv", query, memory))
    return np.stack(outputs, axis=2), memory


@pytest.mark.parametrize("size", [1, 4, 64])
@pytest.mark.parametrize("length", [1, 8, 21])
def test_chunks_are_the_rule_of_each_token(size, length):
    heads, memory = vectors(length), normal(B, N, H, V, seed=9)
    found = chunked(heads, memory, size=size)
    for ours, expected in zip(found, one_by_one(heads, memory), strict=True):
        np.testing.assert_allclose(to_numpy(ours), expected, atol=1e-5)


def test_steps_are_the_rule_of_each_token():
    heads, memory, outputs = vectors(), normal(B, N, H, V, seed=9), []
    expected, last = one_by_one(heads, memory)
    for place in range(T):
        output, memory = step(cut(heads, place, place + 1), memory)
        outputs.append(to_numpy(output))
    np.testing.assert_allclose(np.concatenate(outputs, axis=2), expected, atol=1e-5)
    np.testing.assert_allclose(to_numpy(memory), last, atol=1e-5)


def test_a_text_begins_with_an_empty_memory():
    heads, empty, starts = vectors(), np.zeros((B, N, H, V), "float32"), np.zeros((B, T), bool)
    starts[:, 0] = starts[0, [3, 4, 9]] = starts[1, 8] = True
    outputs, memory = chunked(heads, empty, starts, size=4)
    for row in range(B):
        cuts = [*np.flatnonzero(starts[row]), T]
        for begin, end in itertools.pairwise(cuts):
            expected, last = one_by_one(cut(heads, begin, end, slice(row, row + 1)), empty[:1])
            np.testing.assert_allclose(to_numpy(outputs)[row, :, begin:end], expected[0], atol=1e-5)
        np.testing.assert_allclose(to_numpy(memory)[row], last[0], atol=1e-5)


def test_strong_decays_stay_finite():
    heads = vectors()._replace(decay=np.full((B, N, T), -60.0, "float32"))
    outputs, memory = chunked(heads, np.zeros((B, N, H, V), "float32"))
    expected, last = one_by_one(heads, np.zeros((B, N, H, V)))
    np.testing.assert_allclose(to_numpy(outputs), expected, atol=1e-5)
    np.testing.assert_allclose(to_numpy(memory), last, atol=1e-5)
