from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, to_numpy, tolerance
from layer_checks import check_layer, randomize_built
from pairs import pairwise

from keras_transformers.layers import TokenEmbedding

V, D = 7, 4
TOKENS = np.array([[1, 6, 3], [2, 2, 0]])
SEGMENTS = np.array([[0, 1, 1], [0, 0, 0]])

CASES = pairwise(num_segments=[0, 2], scale=[False, True], initializer_range=[0.02, None])


@pytest.mark.integration
@pytest.mark.parametrize("options", CASES)
def test_layer(options, tmp_path):
    arguments = {"inputs": TOKENS} | ({"segment_ids": SEGMENTS} if options["num_segments"] else {})
    check_layer(TokenEmbedding, {"vocabulary_size": V, "hidden_dim": D, **options}, arguments, tmp_path)


def built(**options) -> TokenEmbedding:
    return randomize_built(TokenEmbedding(V, D, **options), {"inputs": TOKENS})


def test_tokens_and_segments_are_added():
    layer = built(num_segments=2)
    table, segments = to_numpy((layer.embeddings, layer.segment_embeddings))
    np.testing.assert_allclose(to_numpy(layer(TOKENS, segment_ids=SEGMENTS)), table[TOKENS] + segments[SEGMENTS])
    np.testing.assert_allclose(to_numpy(layer(TOKENS)), table[TOKENS] + segments[0])


def test_scale_is_the_square_root_of_the_width():
    """Section 3.4 of the paper; the projection on the vocabulary is not scaled."""
    layer = built(scale=True)
    table = to_numpy(layer.embeddings)
    np.testing.assert_allclose(to_numpy(layer(TOKENS)), 2 * table[TOKENS])
    hidden_states = normal(2, 3, D)
    np.testing.assert_allclose(to_numpy(layer(hidden_states, reverse=True)), hidden_states @ table.T, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_the_tied_projection_in_a_functional_model(dtype):
    layer = TokenEmbedding(V, D, dtype=dtype)
    inputs = keras.Input((None,), dtype="int32")
    model = keras.Model(inputs, layer(layer(inputs), reverse=True))
    assert model.output.shape == (None, None, V)
    assert model.output.dtype == layer.compute_dtype
    table = to_numpy(layer.embeddings)
    np.testing.assert_allclose(to_numpy(model(TOKENS)), table[TOKENS] @ table.T, **tolerance(dtype))


def test_segments_without_a_table_are_refused():
    with pytest.raises(ValueError, match="num_segments=0: leave them out"):
        TokenEmbedding(V, D)(TOKENS, segment_ids=SEGMENTS)
