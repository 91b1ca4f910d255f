from __future__ import annotations

import pytest
from arrays import to_numpy
from small_decoders import small_config

from keras_transformers.models.build import layers


@pytest.mark.parametrize("own_range, expected", [(None, 0.02), (1.0, 1.0), (0.0, 0.0)])
def test_token_embeddings_start_with_their_own_range(own_range, expected):
    """A truncated normal ends at two standard deviations."""
    config = small_config(initializer_range=0.02, embedding_initializer_range=own_range, vocabulary_size=2000)
    embedding = layers(config, (), "float32")["token_embedding"]
    embedding.build((None, None))
    assert abs(to_numpy(embedding.embeddings)).max() == pytest.approx(2 * expected, rel=0.02)
