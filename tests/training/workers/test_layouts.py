"""Layout maps: every variable of our models is split as it should be, or whole on purpose."""

from __future__ import annotations

import keras
import pytest

from keras_transformers.families import bert, convolutional, gpt2, llama, recurrent, transformer
from keras_transformers.models import decoder, encoder, encoder_decoder
from keras_transformers.training.workers.layouts import layout_map, model_parallel


def mesh(parts):
    return keras.distribution.DeviceMesh((1, parts), ("batch", "model"), [f"cpu:{index}" for index in range(parts)])


SIZES = {"num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 8}
CONFIGS = {
    "bert": (encoder, bert(30, **SIZES)),
    "gpt2": (decoder, gpt2(30, **SIZES)),
    "llama": (decoder, llama(30, num_kv_heads=2, intermediate_dim=24, **SIZES)),
    "two_vocabularies": (encoder_decoder, transformer(30, encoder_vocabulary_size=28, **SIZES)),
    "lstm": (decoder, recurrent(30, num_layers=1, hidden_dim=16, intermediate_dim=16, max_length=8)),
    "cnn": (
        encoder_decoder,
        convolutional(30, kind="encoder_decoder", num_layers=1, num_heads=2, hidden_dim=16, max_length=8),
    ),
}
WHOLE = ("norm", "position", "segment", "output/bias", "mixer/", "seed_generator")


@pytest.mark.parametrize("name", CONFIGS)
def test_every_variable_is_split_or_known_to_be_whole(name):
    """A variable that is renamed or new would otherwise stay whole in silence."""
    make, config = CONFIGS[name]
    layouts = layout_map(config, mesh(2))
    with keras.StatelessScope(initialize_variables=False):
        weights = make(config).weights
    for variable in weights:
        layout = layouts[variable.path]  # raises if two patterns match
        assert (layout is None) == any(part in variable.path for part in WHOLE), variable.path
        if layout is not None:
            split = [size for size, axis in zip(variable.shape, layout.axes, strict=True) if axis]
            assert len(layout.axes) == len(variable.shape) and all(size % 2 == 0 for size in split)


def test_a_table_whose_rows_do_not_divide_is_split_by_columns():
    layouts = layout_map(bert(30, **SIZES), mesh(4))
    assert layouts["token_embedding/embeddings"].axes == (None, "model")
    assert layouts["masked_lm_bias/bias"] is None and layouts["lm_head/kernel"] is None
    layouts = layout_map(bert(32, **SIZES), mesh(4))
    assert layouts["token_embedding/embeddings"].axes == ("model", None)
    assert layouts["masked_lm_bias/bias"].axes == ("model",) and layouts["lm_head/kernel"].axes == (None, "model")


def test_what_does_not_divide_is_refused():
    with pytest.raises(ValueError, match=r"num_heads=4 and 8 devices.*\[1, 2, 4\]"):
        layout_map(bert(30, **SIZES), mesh(8))
    with pytest.raises(ValueError, match="intermediate_dim=18 and 4 devices"):
        layout_map(bert(30, intermediate_dim=18, **SIZES), mesh(4))
    with pytest.raises(ValueError, match=r"axis must be one of the mesh, \('batch', 'model'\): received 'heads'"):
        layout_map(bert(30, **SIZES), mesh(2), axis="heads")


def test_other_backends_are_refused(monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "tensorflow")
    with pytest.raises(ValueError, match=r"JAX backend only.*KERAS_BACKEND=jax.*MirroredStrategy"):
        model_parallel(bert(30, **SIZES), (1, 8))


def test_the_axes_of_a_mesh_and_no_splitting_of_what_is_split(monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    for name, value in {"num_processes": 1, "process_id": 0}.items():  # on TensorFlow, Keras 3.12 has none
        monkeypatch.setattr(f"keras.src.backend.distribution_lib.{name}", lambda value=value: value, raising=False)
    devices = [f"cpu:{index}" for index in range(4)]
    made = model_parallel(bert(30, **SIZES), (2, 2), devices)
    assert made.device_mesh.shape == (2, 2) and made.batch_dim_name == "batch" and not made.auto_shard_dataset
    with pytest.raises(ValueError, match=r"the number of devices, 4: received \(3, 2\)"):
        model_parallel(bert(30, **SIZES), (3, 2), devices)
