from __future__ import annotations

import keras
import numpy as np
import pytest

from keras_transformers.families import bert
from keras_transformers.heads import grouped
from keras_transformers.models import encoder


def model_of_texts():
    keras.utils.set_random_seed(0)
    return encoder(bert(50, num_layers=1, num_heads=2, hidden_dim=8, initializer_range=0.5))


@pytest.mark.integration
def test_each_text_is_encoded_by_itself(tmp_path):
    texts, rng = model_of_texts(), np.random.default_rng(0)
    groups = grouped(texts, "groups")
    ids = rng.integers(1, 50, (3, 2, 7), "int32")
    inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": np.ones_like(ids)}
    states = keras.ops.convert_to_numpy(groups(inputs)["hidden_states"])
    for place in range(2):
        alone = texts({name: array[:, place] for name, array in inputs.items()})["hidden_states"]
        np.testing.assert_allclose(states[:, place], keras.ops.convert_to_numpy(alone), atol=1e-6)

    groups.save(tmp_path / "groups.keras")
    loaded = keras.models.load_model(tmp_path / "groups.keras")
    np.testing.assert_allclose(keras.ops.convert_to_numpy(loaded(inputs)["hidden_states"]), states, atol=1e-6)


def test_layers_are_found_by_their_names_and_shared():
    texts = model_of_texts()
    groups = grouped(texts, "groups")
    assert groups.get_layer("token_embedding") is texts.get_layer("token_embedding")
    assert [weight.path for weight in groups.weights] == [weight.path for weight in texts.weights]
