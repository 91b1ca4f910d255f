"""LoRA adapters of `peft`: W + alpha / r * B A, in the layout of each family; what is no plain LoRA is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors.numpy

from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.loading import load_weights
from keras_transformers.checkpoints.peft import adapt, read_adapter
from keras_transformers.checkpoints.saving import save_folder
from keras_transformers.families import bert, gpt2, llama

SIZES = {"vocabulary_size": 90, "num_layers": 1, "num_heads": 2, "hidden_dim": 16, "max_length": 12}
MODELS = {
    "llama": (llama(**SIZES, intermediate_dim=24), "LlamaForCausalLM"),
    "gpt2": (gpt2(**SIZES), "GPT2LMHeadModel"),
    "bert": (bert(**SIZES), "BertForSequenceClassification"),
}
# Of a stored layer: its place in the adapter, the shapes of A and B, and whether it is stored as (input, output).
LAYERS = {
    "llama": ("model.layers.0.mlp.down_proj", (2, 24), (16, 2), False),
    "gpt2": ("transformer.h.0.attn.c_attn", (2, 16), (48, 2), True),
    "bert": ("bert.encoder.layer.0.attention.self.query", (2, 16), (16, 2), False),
}
CONFIG = {"peft_type": "LORA", "base_model_name_or_path": "base", "r": 2, "lora_alpha": 6, "bias": "none"}
RANDOM = np.random.default_rng(0)


def write(folder, tensors, **options):
    folder.mkdir(exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(CONFIG | options))
    named = {f"base_model.model.{name}": array.astype("float32") for name, array in tensors.items()}
    safetensors.numpy.save_file(named, folder / "adapter_model.safetensors")
    return folder


def factors(family):
    layer, a, b, _ = LAYERS[family]
    return {f"{layer}.lora_A.weight": RANDOM.normal(size=a), f"{layer}.lora_B.weight": RANDOM.normal(size=b)}


@pytest.fixture(scope="module")
def base(tmp_path_factory, ours):
    """By family: a model of random weights, its folder and its tensors."""
    made = {}
    for family, (config, architecture) in MODELS.items():
        folder = tmp_path_factory.mktemp(family)
        model = ours.build(config, architecture)
        ours.randomise(model)
        save_folder(folder, model, config, None, architecture=architecture)
        made[family] = model, folder, safetensors.numpy.load_file(folder / "model.safetensors")
    return made


def merged(base, family, adapter, tmp_path):
    """The tensors that the merged model is saved with."""
    model, folder, _ = base[family]
    load_weights(model, adapt(find_stored(folder), adapter))
    config, architecture = MODELS[family]
    save_folder(tmp_path / "merged", model, config, None, architecture=architecture)
    return safetensors.numpy.load_file(tmp_path / "merged" / "model.safetensors")


@pytest.mark.parametrize(("options", "scale"), [({}, 3), ({"use_rslora": True}, 6 / 2**0.5)], ids=["plain", "rslora"])
@pytest.mark.parametrize("family", MODELS)
def test_the_product_is_added_to_the_weight(base, tmp_path, family, options, scale):
    tensors = factors(family)
    found = merged(base, family, read_adapter(write(tmp_path / "adapter", tensors, **options)), tmp_path)
    layer, _, _, is_transposed = LAYERS[family]
    product = tensors[f"{layer}.lora_B.weight"] @ tensors[f"{layer}.lora_A.weight"] * scale
    expected = dict(base[family][2])
    expected[f"{layer}.weight"] = expected[f"{layer}.weight"] + (product.T if is_transposed else product)
    assert all(np.allclose(found[name], array, atol=1e-5) for name, array in expected.items())


def test_saved_modules_replace_those_of_the_base(base, tmp_path):
    tensors = {"classifier.weight": RANDOM.normal(size=(3, 16)), "classifier.bias": RANDOM.normal(size=3)}
    found = merged(base, "bert", read_adapter(write(tmp_path / "adapter", tensors)), tmp_path)
    assert all(np.allclose(found[name], tensors.get(name, array)) for name, array in base["bert"][2].items())


@pytest.mark.parametrize(
    "options",
    [
        {"use_dora": True}, {"bias": "all"}, {"lora_bias": True}, {"rank_pattern": {"q_proj": 4}},
        {"alpha_pattern": {"q_proj": 4}}, {"init_lora_weights": "pissa"}, {"layer_replication": [[0, 1]]},
        {"trainable_token_indices": [1]}, {"target_parameters": ["x"]}, {"an_option_of_tomorrow": 1},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_plain_lora_is_refused(tmp_path, options):
    name = next(iter(options))
    with pytest.raises(ValueError, match=rf"adapter_config\.json: .*{name}.* is not supported.*merge_and_unload"):
        read_adapter(write(tmp_path / "adapter", factors("bert"), **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"peft_type": "IA3"}, "peft_type='IA3' is not supported: expected 'LORA'"),
        ({"base_model_name_or_path": None}, "says no base_model_name_or_path.*Write it there"),
        ({"r": 0}, "r=0: expected 1 to 1000000"),
        ({"lora_alpha": 10**400}, "lora_alpha=1000.*: expected -1000000 to 1000000"),
        ({"lora_alpha": "x"}, "lora_alpha must be a number"),
    ],
)
def test_a_configuration_with_faults(tmp_path, options, message):
    with pytest.raises(ValueError, match=rf"adapter_config\.json:? {message}"):
        read_adapter(write(tmp_path / "adapter", factors("bert"), **options))


def test_options_that_are_null_are_what_they_are_by_default(tmp_path):
    adapter = read_adapter(write(tmp_path / "adapter", {}, r=None, lora_alpha=None, use_rslora=None, task_type=None))
    assert (adapter.rank, adapter.scale, adapter.task) == (8, 1, None)


def test_an_adapter_without_its_weights(tmp_path):
    (write(tmp_path / "adapter", {}) / "adapter_model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"no weights in .*adapter: expected adapter_model\.safetensors"):
        read_adapter(tmp_path / "adapter")


LAYER = LAYERS["bert"][0]
UNFIT = {
    "another layer": ({"bert.encoder.layer.7.x.lora_A.weight": np.ones((2, 16))}, {}, "the base has no such weight"),
    "half of it": ({f"{LAYER}.lora_A.weight": np.ones((2, 16))}, {}, "lora_B is missing"),
    "shape": ({f"{LAYER}.lora_A.weight": np.ones((2, 8)), f"{LAYER}.lora_B.weight": np.ones((16, 2))}, {}, "lora_A"),
    "rank": ({f"{LAYER}.lora_A.weight": np.ones((2, 16)), f"{LAYER}.lora_B.weight": np.ones((16, 2))}, {"r": 4}, "r=4"),
    "embedding": ({"bert.embeddings.word_embeddings.lora_embedding_A": np.ones((2, 90))}, {}, "not supported"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_an_adapter_of_another_model(base, tmp_path, case):
    model, folder, _ = base["bert"]
    tensors, options, message = UNFIT[case]
    adapter = read_adapter(write(tmp_path / "adapter", tensors, **options))
    before = [np.array(weight) for weight in model.weights]
    with pytest.raises(ValueError, match=rf"the adapter in .*{message}"):
        load_weights(model, adapt(find_stored(folder), adapter))
    assert all(np.array_equal(one, other) for one, other in zip(before, model.weights, strict=True))
