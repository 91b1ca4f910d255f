from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import to_numpy
from layer_checks import check_layer, randomize_built

from keras_transformers.layers import DisentangledPositions
from keras_transformers.layers.positions.disentangled import distance_buckets

D = 8


@pytest.mark.integration
def test_layer(tmp_path):
    options = {"hidden_dim": D, "num_buckets": 6, "max_distance": 9}
    check_layer(DisentangledPositions, options, {"positions": np.tile(np.arange(5, dtype="int32"), (10, 1))}, tmp_path)


@pytest.mark.parity
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(256, 512), (8, 33), (4, 20), (512, 4096)])
def test_buckets_are_those_of_transformers(num_buckets, max_distance):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("transformers.models.deberta_v2.modeling_deberta_v2")
    distances = np.arange(-2 * max_distance, 2 * max_distance)
    buckets = theirs.make_log_bucket_position(torch.from_numpy(distances), num_buckets, max_distance).long()
    expected = torch.clamp(buckets + num_buckets, 0, 2 * num_buckets - 1).numpy()
    layer = DisentangledPositions(D, num_buckets, max_distance)
    np.testing.assert_array_equal(layer._rows(2 * max_distance)[::-1], expected)


def test_near_distances_have_a_bucket_each_and_far_ones_share():
    buckets = distance_buckets(256, 512)
    np.testing.assert_array_equal(buckets[:129], np.arange(129))
    assert (buckets[-2], buckets[-1]) == (255, 256)
    assert (np.diff(buckets) >= 0).all() and (np.diff(buckets) <= 1).all()


@pytest.mark.parametrize("length", [1, 3, 4, 30])
def test_only_the_vectors_that_occur_are_computed(length):
    layer = DisentangledPositions(D, num_buckets=6, max_distance=7)
    randomize_built(layer, {"positions": np.arange(length)[None]})
    table, rows = (to_numpy(part) for part in layer(np.arange(length)[None]))
    assert set(rows) <= set(range(len(table))) and len(table) <= min(2 * length, 12)
    whole = to_numpy(layer.norm(layer.embeddings.value))
    np.testing.assert_allclose(table[rows], whole[layer._rows(length)], rtol=1e-5, atol=1e-6)


def test_a_length_that_is_not_known_before():
    inputs = keras.Input((None,), dtype="int32")
    layer = DisentangledPositions(D, num_buckets=6, max_distance=7)
    model = keras.Model(inputs, layer(inputs))
    randomize_built(layer, {"positions": np.arange(3)[None]})
    for length in (1, 5, 20):
        places = np.arange(length)[None]
        for one, other in zip(model(places), layer(places), strict=True):
            np.testing.assert_allclose(to_numpy(one), to_numpy(other), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sizes", [(7, 20), (2, 20), (40, 20)])
def test_buckets_that_do_not_fit_are_refused(sizes):
    with pytest.raises(ValueError, match="buckets of distances must be an even number"):
        DisentangledPositions(D, *sizes)


@pytest.mark.parametrize("shape", [(), (3,), (1, 0), (1, 2, 3)])
def test_positions_of_another_shape_are_refused(shape):
    for positions in (np.zeros(shape, "int32"), keras.KerasTensor(shape, "int32")):
        with pytest.raises(ValueError, match=r"positions must be \(1, length\) or \(batch, length\)"):
            DisentangledPositions(D, 6, 9)(positions)
