from __future__ import annotations

import keras
import numpy as np
import pytest
from arrays import normal, randomize, to_numpy, tolerance
from bert_model import all_heads, batch, small_config
from layer_checks import check_layer

from keras_transformers.heads.language_model import OutputBias

CONFIG = small_config()
POSITIONS = np.array([[6, 0], [2, 2], [0, 0]])


def test_output_bias(tmp_path):
    check_layer(OutputBias, {}, {"logits": normal(2, 3, 5)}, tmp_path)


@pytest.mark.integration
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_only_the_named_positions_are_projected(dtype):
    model, inputs = randomize(all_heads(CONFIG, dtype), scale=0.3), batch(CONFIG)
    everywhere = np.repeat(np.arange(7)[None], 3, axis=0)
    full = to_numpy(model(inputs | {"mask_positions": everywhere})["masked_lm_logits"])
    logits = to_numpy(model(inputs | {"mask_positions": POSITIONS})["masked_lm_logits"])
    np.testing.assert_allclose(logits, np.take_along_axis(full, POSITIONS[..., None], axis=1), **tolerance(dtype))


def test_the_projection_is_the_embedding():
    model = randomize(all_heads(CONFIG), scale=0.3)
    norm, bias = model.get_layer("masked_lm_norm"), model.get_layer("masked_lm_bias")
    table = to_numpy(model.get_layer("token_embedding").embeddings)
    before = keras.Model(model.input, norm.output)
    inputs = batch(CONFIG) | {"mask_positions": POSITIONS}
    expected = to_numpy(before(inputs)) @ table.T + to_numpy(bias.bias)
    np.testing.assert_allclose(to_numpy(model(inputs)["masked_lm_logits"]), expected, **tolerance("float32"))


@pytest.mark.integration
def test_a_model_with_all_heads_is_saved_and_loaded(tmp_path):
    model, inputs = randomize(all_heads(CONFIG)), batch(CONFIG) | {"mask_positions": POSITIONS}
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    keras.tree.map_structure(np.testing.assert_array_equal, to_numpy(loaded(inputs)), to_numpy(model(inputs)))
