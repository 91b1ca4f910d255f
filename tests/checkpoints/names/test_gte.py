"""The config.json and the tensors of GTE, in the words of the released files and of `transformers`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_transformers.checkpoints.settings.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import gte
from keras_transformers.families.encoders.gte import ntk_scaling

RELEASED = {
    "architectures": ["NewModel"], "attention_probs_dropout_prob": 0.0,
    "auto_map": {"AutoModel": "Alibaba-NLP/new-impl--modeling.NewModel"}, "classifier_dropout": None,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.25, "hidden_size": 32, "initializer_range": 0.02,
    "intermediate_size": 40, "layer_norm_eps": 1e-6, "layer_norm_type": "layer_norm", "logn_attention_clip1": False,
    "logn_attention_scale": False, "max_position_embeddings": 24, "model_type": "new", "num_attention_heads": 4,
    "num_hidden_layers": 3, "pack_qkv": True, "pad_token_id": 0, "position_embedding_type": "rope",
    "rope_scaling": {"factor": 8.0, "type": "ntk"}, "rope_theta": 50, "type_vocab_size": 2, "unpad_inputs": False,
    "use_memory_efficient_attention": False, "vocab_size": 90,
}  # fmt: skip
SIZES = (90, 3, 4, 32, 40, 24)
FACTS = {"epsilon": 1e-6, "dropout": 0.25, "num_segments": 2, "pad_id": 0}
SAME = gte(*SIZES, **FACTS, max_wavelength=400.0, rotary_scaling={"kind": "linear", "factor": 8.0**0.25})


def read(folder, **changes):
    (folder / "config.json").write_text(json.dumps(RELEASED | changes))
    return read_config(folder)


def test_released_keys(tmp_path):
    config, extra = read(tmp_path)
    assert (config, extra["architecture"]) == (SAME, "GteModel")
    assert config.replace(**ntk_scaling(50.0, 8.0, 8)) == config
    assert read(tmp_path, rope_scaling=None)[0] == gte(*SIZES, **FACTS, max_wavelength=50.0)
    several = read(tmp_path, architectures=["NewForSequenceClassification", "NewModel"], id2label={"0": "LABEL_0"})
    assert several[1]["architecture"] == "GteForSequenceClassification"
    assert several[1]["problem"] == "regression"


def test_missing_keys_have_the_defaults_of_their_code(tmp_path):
    released = {key: RELEASED[key] for key in RELEASED if key not in ("rope_theta", "rope_scaling", "type_vocab_size")}
    for model_type, base in (("new", 10_000.0), ("gte", 160_000.0)):
        (tmp_path / "config.json").write_text(json.dumps(released | {"model_type": model_type}))
        config = read_config(tmp_path)[0]
        assert (config.max_wavelength, config.num_segments) == (base, 1)


@pytest.mark.parametrize("config", [SAME, gte(*SIZES)])
def test_keys_of_transformers(tmp_path, config):
    values = make_config(config, "GteForMaskedLM")
    assert values["model_type"] == "gte" and "factor" not in values
    assert values["rope_parameters"].get("factor") == (config.rotary_scaling and config.rotary_scaling.factor)
    (tmp_path / "config.json").write_text(json.dumps(values))
    assert read_config(tmp_path)[0] == config


REFUSED = {
    "rope_type='dynamic' is not supported": {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
    "rope_type='yarn' is not supported": {"rope_scaling": {"type": "yarn", "factor": 2.0}},
    "mixed_b=0.6 is not supported": {"rope_scaling": {"type": "ntk", "factor": 2.0, "mixed_b": 0.6}},
    "factor=0.5 of rope_type='ntk' is not supported": {"rope_scaling": {"type": "ntk", "factor": 0.5}},
    "rope_type='linear' with .* is not supported: factor .* received '2'": {
        "rope_scaling": {"type": "linear", "factor": "2"}
    },
    "pack_qkv=False is not supported": {"pack_qkv": False},
    "logn_attention_scale=True is not supported": {"logn_attention_scale": True},
    "layer_norm_type='rms_norm' is not supported": {"layer_norm_type": "rms_norm"},
    "position_embedding_type='absolute' is not supported": {"position_embedding_type": "absolute"},
    "unknown activation 'silu'": {"hidden_act": "silu"},
    r"lacks \['hidden_size'\]": {"hidden_size": None},
    r"lacks \['num_attention_heads'\]": {"num_attention_heads": None},
    "value of the wrong type": {"num_attention_heads": 0},
    "the wrong type": {"architectures": [5]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_computed_is_refused_by_its_key(tmp_path, message):
    with pytest.raises(ValueError, match=f"config.json.*{message}"):
        read(tmp_path, **REFUSED[message])


def rename(folder):
    """Gives a folder of `transformers` the names of the released files."""
    tensors = load_file(folder / "model.safetensors")
    released = {name.replace("gte.", "new."): array for name, array in tensors.items()}
    save_file(released, folder / "model.safetensors", {"format": "pt"})
    return tensors.keys() - released.keys()


def released_frequencies(base=50, factor=8.0, dim=8):
    """`inv_freq` of NTKScalingRotaryEmbedding in Alibaba-NLP/new-impl, for texts of any length."""
    return (factor * base) ** -(np.arange(0, dim, 2, dtype="float64") / dim) / factor ** (2 / dim)


@pytest.mark.parity
@pytest.mark.parametrize("architecture", FAMILIES["gte"].architectures)
def test_released_files_give_the_numbers_of_their_formula(tmp_path, ours, theirs, architecture):
    """Texts of up to 21 tokens, of a model that was trained with 3: `max_position_embeddings / factor`."""
    torch = pytest.importorskip("torch")
    config, _ = read(tmp_path)
    reference = theirs.make(tmp_path, architecture, **make_config(config, architecture))
    assert rename(tmp_path) or architecture == "GteModel"
    _, extra = read(tmp_path, architectures=[architecture.replace("Gte", "New")])
    assert extra["architecture"] == architecture
    rotary = getattr(reference, "gte", reference).rotary_emb
    wanted = torch.tensor(released_frequencies(), dtype=torch.float32)
    np.testing.assert_allclose(rotary.inv_freq.numpy(), wanted.numpy(), rtol=1e-6)  # as we wrote them
    rotary.inv_freq.copy_(wanted)
    model = ours.build(config, architecture, 2)
    load_weights(model, tmp_path)
    inputs = ours.batch(config, length=21)
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < 1e-4

    save_folder(tmp_path / "saved", model, config, None, **extra)
    back, report = type(reference).from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not (report["missing_keys"] or report["unexpected_keys"] or report["mismatched_keys"])
    assert ours.difference(theirs.predict(back.eval(), inputs), expected) < 1e-5


@pytest.mark.parity
def test_a_model_without_head_ignores_the_heads_of_released_files(tmp_path, ours, theirs):
    """As in gte-multilingual-base, whose first class is `NewModel`."""
    config, _ = read(tmp_path)
    reference = theirs.make(tmp_path, "GteForTokenClassification", **make_config(config, "GteForTokenClassification"))
    rename(tmp_path)
    _, extra = read(tmp_path, architectures=["NewModel", "NewForTokenClassification"])
    model = ours.build(config, extra["architecture"], 1)
    load_weights(model, tmp_path)
    inputs = ours.batch(config, length=21)
    expected = theirs.predict(reference.gte, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < 1e-4
