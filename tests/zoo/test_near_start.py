from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_transformers.families import bert
from keras_transformers.models import encoder
from zoo.registry.near_start import attend_nearby
from zoo.scratch.new_models import MODELS


def mean_distance(model, length=64):
    """How far, in tokens, the first block's heads look on average."""
    ids = np.random.default_rng(0).integers(0, 100, (4, length))
    inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1}
    weights = np.array(model.predict(inputs, verbose=0)["attention_scores"])[:, 0]  # (B, N, T, T)
    distances = abs(np.arange(length)[:, None] - np.arange(length))  # (T, T)
    return (weights * distances).sum(-1).mean()


@pytest.mark.integration
def test_fresh_heads_look_at_near_tokens():
    keras.utils.set_random_seed(0)
    config = bert(100, num_layers=1, num_heads=4, hidden_dim=256, max_length=64, initializer_range=0.035)
    model = encoder(config, outputs=["attention_scores"])
    usual = mean_distance(model)
    attend_nearby(model, config)
    near = mean_distance(model)
    assert usual > 20 and near < 0.8 * usual, (usual, near)


def test_an_odd_width():
    config = bert(100, num_layers=1, num_heads=5, hidden_dim=75, max_length=8)
    model = encoder(config)
    attend_nearby(model, config)
    positions = np.array(model.get_layer("position_embedding").embeddings)
    assert positions.shape == (8, 75) and abs(positions).max() > 0


def test_new_encoders_start_so():
    assert [name for name, model in MODELS.items() if model.near_start] == ["bert"]
