"""`.keras` files written before layers returned one tensor: as then, blocks have no `return_cache` in them."""

from __future__ import annotations

import json
import zipfile

import keras
import numpy as np
import pytest
from arrays import randomize, to_numpy

from keras_transformers import decoder, encoder_decoder, families
from keras_transformers.layers import Attention, DecoderBlock

IDS = np.array([[2, 5, 3, 7, 0, 0], [4, 4, 4, 4, 4, 4]])
TINY = {"vocabulary_size": 50, "num_layers": 1, "num_heads": 2, "hidden_dim": 8}
MODELS = {
    "decoder": lambda: decoder(families.gpt2(**TINY), outputs=["attention_scores"]),
    "encoder-decoder": lambda: encoder_decoder(families.t5(**TINY), outputs=["cross_attention_scores"]),
    "recurrent": lambda: encoder_decoder(families.recurrent(50, 1, 8, kind="encoder_decoder", cross_attention=False)),
}


def as_then(text: str) -> str:
    """Return the configuration of a model as version 0.1 wrote it before."""

    def old(config):
        if isinstance(config, list):
            return [old(value) for value in config]
        if not isinstance(config, dict):
            return config
        names = {"context": "encoder_hidden_states", "context_shape": "encoder_hidden_states_shape"}
        left_out = ("return_cache", "use_causal_mask")
        return {names.get(name, name): old(value) for name, value in config.items() if name not in left_out}

    return json.dumps(old(json.loads(text)))


@pytest.mark.integration
@pytest.mark.parametrize("name", MODELS)
def test_they_are_read(name, tmp_path):
    model = randomize(MODELS[name](), scale=0.3)
    model.save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as new, zipfile.ZipFile(tmp_path / "old.keras", "w") as old:
        for file in new.namelist():
            content = new.read(file)
            old.writestr(file, as_then(content.decode()) if file == "config.json" else content)
    inputs = {tensor.name: IDS if "ids" in tensor.name else (IDS != 0).astype("int32") for tensor in model.inputs}
    loaded = keras.saving.load_model(tmp_path / "old.keras")
    keras.tree.map_structure(np.testing.assert_array_equal, to_numpy(loaded(inputs)), to_numpy(model(inputs)))


@keras.saving.register_keras_serializable("tests")
class Small(DecoderBlock):
    """Of a user, with a constructor of its own."""

    def __init__(self, width: int = 16, **kwargs):
        super().__init__(num_heads=2, intermediate_dim=width, **kwargs)


@keras.saving.register_keras_serializable("tests")
class Closed(Attention):
    def __init__(self, heads: int = 2):
        super().__init__(num_heads=heads)

    def get_config(self):
        return {"heads": self.num_heads}


@pytest.mark.integration(quick=["Closed"])
@pytest.mark.parametrize("layer_class", [Small, Closed])
def test_subclasses_of_a_user_are_none(layer_class, tmp_path):
    """They do not name the option either."""
    model = keras.Sequential([keras.Input((3, 8)), layer_class()])
    model.save(tmp_path / "model.keras")
    x = np.ones((1, 3, 8), "float32")
    for twin in (keras.saving.load_model(tmp_path / "model.keras"), keras.models.clone_model(model)):
        twin.set_weights(model.get_weights())
        np.testing.assert_array_equal(to_numpy(twin(x)), to_numpy(model(x)))
