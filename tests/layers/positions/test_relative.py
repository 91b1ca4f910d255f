from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import to_numpy
from layer_checks import check_layer

from keras_transformers.layers import ALiBi, RelativePositionBias

QUERIES = np.array([[0, 1, 2], [4, 7, 1]])
KEYS = np.array([[0, 1, 2, 3], [9, 1, 200, 3]])
N = 4

LAYERS = [
    (RelativePositionBias, {"num_heads": N}),
    (RelativePositionBias, {"num_heads": N, "num_buckets": 8, "max_distance": 20, "bidirectional": False}),
    (ALiBi, {"num_heads": N}),
    (ALiBi, {"num_heads": 3}),
]


@pytest.mark.integration(quick=["ALiBi-options2", "ALiBi-options3"])
@pytest.mark.parametrize(("layer_class", "options"), LAYERS)
def test_layer(layer_class, options, tmp_path):
    check_layer(layer_class, options, {"query_positions": QUERIES, "key_positions": KEYS}, tmp_path)


@pytest.mark.parametrize("layer", [RelativePositionBias(N), ALiBi(N)], ids=["relative", "alibi"])
def test_one_row_of_positions_serves_a_batch(layer):
    one = to_numpy(layer(QUERIES[:1], KEYS[:1]))
    assert one.shape == (1, N, 3, 4)
    np.testing.assert_array_equal(to_numpy(layer(QUERIES, KEYS[:1]))[:1], one)
    np.testing.assert_array_equal(to_numpy(layer(QUERIES[:1], KEYS))[:1], one)


def table_of(layer: RelativePositionBias, distances: np.ndarray) -> np.ndarray:
    """Which row of the table each distance takes."""
    layer.build((1, 1), (1, 1))
    layer.embeddings.assign(np.arange(layer.num_buckets)[:, None] * np.ones((1, layer.num_heads)))
    return to_numpy(layer(np.zeros((1, 1), "int32"), distances[None]))[0, 0, 0].astype(int)


def test_near_distances_have_a_row_each_and_far_ones_share():
    buckets = table_of(RelativePositionBias(N), np.arange(-200, 201))
    past, future = buckets[200::-1], buckets[200:]
    np.testing.assert_array_equal(past[:8], np.arange(8))
    np.testing.assert_array_equal(future[1:8], 16 + np.arange(1, 8))
    assert past[-1] == 15
    assert future[-1] == 31
    assert (np.diff(past) >= 0).all()


def test_a_decoder_has_no_rows_for_the_future():
    buckets = table_of(RelativePositionBias(N, bidirectional=False), np.arange(-40, 41))
    assert not buckets[40:].any()
    np.testing.assert_array_equal(buckets[40:24:-1], np.arange(16))


def test_alibi_is_linear_in_the_distance():
    """Slopes 1/4, 1/16, ... for 4 heads: a geometric series that starts at 2^(-8/n)."""
    bias = to_numpy(ALiBi(4)(np.array([[5]]), np.array([[5, 4, 2]])))
    np.testing.assert_allclose(bias[0, :, 0], -np.outer([1 / 4, 1 / 16, 1 / 64, 1 / 256], [0, 1, 3]))


@pytest.mark.parity
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (64, 256), (16, 50)])
def test_parity_with_t5_buckets(bidirectional, num_buckets, max_distance):
    import torch
    from transformers.models.t5.modeling_t5 import T5Attention

    distances = np.arange(-1000, 1001)
    expected = T5Attention._relative_position_bucket(
        torch.tensor(distances), bidirectional, num_buckets=num_buckets, max_distance=max_distance
    )
    ours = table_of(RelativePositionBias(N, num_buckets, max_distance, bidirectional), distances)
    np.testing.assert_array_equal(ours, expected.numpy())


@pytest.mark.parity
@pytest.mark.parametrize("num_heads", [8, 12])
def test_parity_with_blooms_slopes(num_heads):
    import torch
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    theirs = build_alibi_tensor(torch.ones(1, 5), num_heads, torch.float32).numpy().reshape(num_heads, 5)
    ours = to_numpy(ALiBi(num_heads)(np.array([[4]]), np.arange(5)[None]))[0, :, 0]
    # Bloom's grows with the key's position, ours falls with its distance: a constant per head apart, as softmax allows.
    np.testing.assert_allclose(ours, theirs - theirs[:, -1:], atol=1e-6)


@pytest.mark.parametrize("layer", [RelativePositionBias(2, 8, 16), ALiBi(2)], ids=type)
@pytest.mark.parametrize("shape", [(), (3,), (1, 0), (1, 2, 3)])
def test_positions_of_another_shape_are_refused(layer, shape):
    for positions in (np.zeros(shape, "int32"), keras.KerasTensor(shape, "int32")):
        with pytest.raises(ValueError, match=r"positions must be \(1, length\) or \(batch, length\)"):
            layer(positions, positions)
