from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy, tolerance
from gradients import gradients, weight_gradients
from keras import ops
from layer_checks import randomize_built
from pairs import pairwise

from keras_transformers.layers import Attention, DisentangledPositions, EncoderBlock, padding_mask
from keras_transformers.layers.attention.distance_scores import (
    Distances,
    by_distance,
    chunk_scores,
    distance_scores,
)
from keras_transformers.layers.attention.long_attention import long_attention
from keras_transformers.layers.attention.products import mix
from keras_transformers.layers.attention.scores import ScoreOptions, Visible, attention_weights

B, N, H, D = 2, 4, 4, 16


def vectors(queries: int, keys: int) -> Distances:
    return Distances(*(normal(1, N, queries + keys, H, seed=seed) for seed in (5, 6)))


def by_loops(query, key, distances):
    """The definition: each query with the key vector of its distance, each key with the query vector."""
    queries, keys = query.shape[2], key.shape[2]
    scores = np.zeros((B, N, queries, keys), "float32")
    for i in range(queries):
        for j in range(keys):
            of_keys = distances.keys[0, :, queries - 1 - (i - j)]  # (N, H)
            of_queries = distances.queries[0, :, keys + (i - j)]
            scores[:, :, i, j] = (query[:, :, i] * of_keys).sum(-1) + (key[:, :, j] * of_queries).sum(-1)
    return scores


@pytest.mark.parametrize("scores", [distance_scores, chunk_scores])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 7), (3, 7), (4, 8), (6, 6), (7, 3)])
def test_scores_go_by_distances(scores, queries, keys):
    query, key, distances = normal(B, N, queries, H), normal(B, N, keys, H, seed=1), vectors(queries, keys)
    found = to_numpy(scores(query, key, distances))
    np.testing.assert_allclose(found, by_loops(query, key, distances), rtol=1e-4, atol=1e-5)


def test_both_vectors_of_a_distance_are_of_its_row():
    rows = np.array([2, 1, 0, 0])
    keys, queries = normal(1, N, 3, H), normal(1, N, 3, H, seed=1)
    found = by_distance(keys, queries, rows)
    np.testing.assert_array_equal(to_numpy(found.keys), keys[:, :, rows])
    np.testing.assert_array_equal(to_numpy(found.queries), queries[:, :, rows[::-1]])


CASES = pairwise(
    length=[2, 7, 8],
    chunk=[1, 4, 16],
    mask=[False, True],
    window=[(None, None), (2, 1)],
    bias=[0, 1],
    dropout=[False, True],
    dtype=["float32", "bfloat16"],
)


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_chunks_give_the_numbers_and_gradients_of_all_scores(case):
    length, chunk, dtype = case["length"], case["chunk"], case["dtype"]
    arrays = [*(normal(B, N, length, H, seed=seed) for seed in range(3)), *vectors(length, length)]
    arrays += [normal(1, N, length, length, seed=7)] if case["bias"] else []
    arrays = [ops.cast(array, dtype) for array in arrays]
    mask = np.arange(length) < np.array([[[length]], [[max(length - 2, 1)]]]) if case["mask"] else None
    visible, factor = Visible(mask, window=case["window"]), 1.5 if case["dropout"] else 1.0
    upstream = normal(B, N, length, H, seed=9)

    def plain(query, key, value, keys, queries, bias=None):
        weights = attention_weights(query, key, ScoreOptions(visible, bias, Distances(keys, queries)))
        return mix(ops.cast(weights * factor, dtype), value)

    def ours(query, key, value, keys, queries, bias=None):
        draws = lambda index, shape: ops.ones(shape, "float32") * factor  # noqa: E731
        return long_attention(query, key, value, ScoreOptions(visible, bias, Distances(keys, queries)), draws, chunk)

    np.testing.assert_allclose(to_numpy(ours(*arrays)), to_numpy(plain(*arrays)), **tolerance(dtype))
    found, expected = (
        gradients(lambda *x, f=function: ops.cast(f(*x), "float32") * upstream, *arrays) for function in (ours, plain)
    )
    limit = tolerance(dtype) if dtype == "float32" else {"atol": 0.15, "rtol": 0.05}  # sums of rounded numbers
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **limit)


def positions(length, width=D):
    layer, places = DisentangledPositions(width, num_buckets=6, max_distance=7), np.arange(length)[None]
    return [to_numpy(part) for part in randomize_built(layer, {"positions": places})(places)]


@pytest.mark.integration
def test_a_layer_is_the_same_from_a_length_on():
    x, mask = normal(B, 9, D), padding_mask(np.arange(9) < np.array([[9], [4]]))
    given = {"hidden_states": x, "attention_mask": mask, "relative_positions": positions(9)}
    short, long = (Attention(N, linear_from=start) for start in (10, 9))
    randomize_built(short, given)
    long.build(x.shape)
    long.set_weights(short.get_weights())
    np.testing.assert_allclose(to_numpy(long(**given)), to_numpy(short(**given)), **tolerance("float32"))
    one, other = (weight_gradients(layer, normal(B, 9, D, seed=3), given) for layer in (long, short))
    for name, gradient in one.items():
        np.testing.assert_allclose(gradient, other[name], rtol=1e-3, atol=1e-4, err_msg=name)


def test_the_layer_projects_distances_as_it_does_tokens():
    x, (table, rows) = normal(B, 5, D), positions(5)
    layer = randomize_built(Attention(N, return_scores=True), {"hidden_states": x})

    def heads(dense, inputs):
        return to_numpy(dense(inputs)).reshape(*inputs.shape[:2], N, H).transpose(0, 2, 1, 3)

    query, key = heads(layer.query, x), heads(layer.key, x)
    of_rows = Distances(heads(layer.key, table[None])[:, :, rows], heads(layer.query, table[None])[:, :, rows[::-1]])
    scores = (query @ key.transpose(0, 1, 3, 2) + by_loops(query, key, of_rows)) / np.sqrt(3 * H)
    _, weights = layer(x, relative_positions=(table, rows))
    np.testing.assert_allclose(to_numpy(weights), to_numpy(ops.softmax(scores)), **tolerance("float32"))


@pytest.mark.integration
def test_a_length_that_is_not_known_before():
    """One graph serves both ways, also when it is saved; its steps are those of attention that keeps all scores."""
    x = keras.Input((None, D))
    losses = []
    for linear_from in (5, None):
        keras.utils.set_random_seed(0)
        table = DisentangledPositions(D, 6, 7)(ops.ones_like(x[:1, :, 0], dtype="int32"))
        hidden_states = EncoderBlock(N, 32, dropout=0.1, linear_from=linear_from)(x, relative_positions=table)
        model = keras.Model(x, keras.layers.Dense(1)(ops.mean(hidden_states, axis=1)))
        model.compile(keras.optimizers.SGD(0.1), "mse", jit_compile=False)
        losses.append([float(model.train_on_batch(normal(4, t, D), np.ones((4, 1)))) for t in (1, 300)])
    np.testing.assert_allclose(*losses, rtol=1e-3)


def test_the_table_has_the_dropout_of_a_sublayer(monkeypatch):
    keras.utils.set_random_seed(0)
    x, given = normal(B, 5, D), positions(5)
    block = EncoderBlock(N, 32, dropout=0.5, attention_dropout=0.0)
    block(x, relative_positions=given)
    tables = []
    monkeypatch.setattr(
        "keras_transformers.layers.attention.attention.distance_vectors",
        lambda attention, pair: tables.append(to_numpy(pair[0])),
    )
    block(x, relative_positions=given, training=True)
    assert 0.2 < (tables[0] == 0).mean() < 0.8


X = normal(B, 5, D)
CACHE = {"key": np.zeros((B, N, 5, H), "float32"), "value": np.zeros((B, N, 5, H), "float32")}


@pytest.mark.parametrize(
    ("options", "inputs", "message"),
    [
        ({}, {"context": X}, "self-attention without a cache"),
        ({}, {"cache": CACHE}, "self-attention without a cache"),
        ({"num_kv_heads": 2}, {}, "a key head for each query head"),
        ({}, {"relative_positions": positions(4)}, r"\(table, rows\).*\(10,\)"),
        ({}, {"relative_positions": positions(5)[0]}, r"\(table, rows\)"),
    ],
)
def test_wrong_calls_are_refused(options, inputs, message):
    given = {"relative_positions": positions(5)} | inputs
    with pytest.raises(ValueError, match=message):
        Attention(N, **options)(X, **given)
