"""LoRA adapters of `peft`: W + alpha / r * B A, in the layout of each family; what is no plain LoRA is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors.numpy

from keras_transformers.checkpoints.formats import find_stored
from keras_transformers.checkpoints.peft import adapt, read_adapter
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
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


@pytest.mark.parametrize("family", MODELS)
def test_magnitudes_replace_the_norm_of_each_output(base, tmp_path, family):
    tensors, (layer, _, b, is_transposed) = factors(family), LAYERS[family]
    magnitudes = RANDOM.uniform(0.5, 2, size=b[0])
    tensors[f"{layer}.lora_magnitude_vector"] = magnitudes
    found = merged(base, family, read_adapter(write(tmp_path / "adapter", tensors, use_dora=True)), tmp_path)
    weight = base[family][2][f"{layer}.weight"]
    total = (weight.T if is_transposed else weight) + tensors[f"{layer}.lora_B.weight"] @ (
        tensors[f"{layer}.lora_A.weight"] * 3
    )
    expected = magnitudes[:, None] * total / np.linalg.norm(total, axis=1, keepdims=True)
    assert np.allclose(found[f"{layer}.weight"], expected.T if is_transposed else expected, atol=1e-5)


def test_biases_and_wrapped_tensors_replace_those_of_the_base(base, tmp_path):
    layer = LAYERS["bert"][0]
    tensors = factors("bert") | {
        f"{layer}.base_layer.bias": RANDOM.normal(size=16),
        "bert.embeddings.LayerNorm.bias": RANDOM.normal(size=16),
        "classifier.modules_to_save.bias": RANDOM.normal(size=3),
        "classifier.original_module.bias": RANDOM.normal(size=3),
    }
    found = merged(base, "bert", read_adapter(write(tmp_path / "adapter", tensors, bias="all")), tmp_path)
    assert np.allclose(found[f"{layer}.bias"], tensors[f"{layer}.base_layer.bias"])
    assert np.allclose(found["bert.embeddings.LayerNorm.bias"], tensors["bert.embeddings.LayerNorm.bias"])
    assert np.allclose(found["classifier.bias"], tensors["classifier.modules_to_save.bias"])


def test_an_adapted_embedding_leaves_the_head_that_was_tied_to_it(base, tmp_path):
    a, b = RANDOM.normal(size=(2, 90)), RANDOM.normal(size=(16, 2))
    tensors = {"transformer.wte.lora_embedding_A": a, "transformer.wte.lora_embedding_B": b}
    _, folder, before = base["gpt2"]
    stored = adapt(find_stored(folder), read_adapter(write(tmp_path / "adapter", tensors, task_type="CAUSAL_LM")))
    assert not stored.config.tie_embeddings
    found = {tensor.name: tensor.read() for tensor in stored.tensors()}
    assert np.allclose(found["transformer.wte.weight"], before["transformer.wte.weight"] + (b @ a * 3).T, atol=1e-5)
    assert np.array_equal(found["lm_head.weight"], before["transformer.wte.weight"])


@pytest.mark.parametrize("layers", [["wte"], ["lm_head"], ["wte", "lm_head"]], ids=str)
def test_a_saved_embedding_or_head_leaves_the_other_as_it_was(base, tmp_path, layers):
    """In `peft` one of two tied layers is copied and trained: the other one keeps the weight of the base."""
    names = {"wte": "transformer.wte.weight", "lm_head": "lm_head.weight"}
    tensors = {names[layer]: RANDOM.normal(size=(90, 16)) for layer in layers}
    options = {"task_type": "CAUSAL_LM", "modules_to_save": layers}
    _, folder, before = base["gpt2"]
    stored = adapt(find_stored(folder), read_adapter(write(tmp_path / "adapter", tensors, **options)))
    assert not stored.config.tie_embeddings
    found = {tensor.name: tensor.read() for tensor in stored.tensors()}
    for name in names.values():
        assert np.allclose(found[name], tensors.get(name, before[names["wte"]]))


def test_saved_modules_replace_those_of_the_base(base, tmp_path):
    tensors = {"classifier.weight": RANDOM.normal(size=(3, 16)), "classifier.bias": RANDOM.normal(size=3)}
    found = merged(base, "bert", read_adapter(write(tmp_path / "adapter", tensors)), tmp_path)
    assert all(np.allclose(found[name], tensors.get(name, array)) for name, array in base["bert"][2].items())


@pytest.mark.parametrize(
    "options",
    [
        {"bias": "some"}, {"lora_bias": True}, {"init_lora_weights": "pissa"}, {"layer_replication": [[0, 1]]},
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
        ({"base_model_name_or_path": None}, "has no base_model_name_or_path.*Write it there"),
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
    assert (adapter.sizes.of("any"), adapter.task) == ((8, 1), None)


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
    "half of an embedding": (
        {"bert.embeddings.word_embeddings.lora_embedding_A": np.ones((2, 90))}, {}, "lora_embedding_B is missing",
    ),
    "no magnitudes": (
        {f"{LAYER}.lora_A.weight": np.ones((2, 16)), f"{LAYER}.lora_B.weight": np.ones((16, 2))},
        {"use_dora": True}, "lora_magnitude_vector is missing",
    ),
    "magnitudes": ({
        f"{LAYER}.lora_A.weight": np.ones((2, 16)), f"{LAYER}.lora_B.weight": np.ones((16, 2)),
        f"{LAYER}.lora_magnitude_vector": np.ones(16),
    }, {}, "lora_magnitude_vector is not expected"),
    "unknown": ({f"{LAYER}.lora_B.bias": np.ones(16)}, {}, "which is not supported"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNFIT)
def test_an_adapter_of_another_model(base, tmp_path, case):
    model, folder, _ = base["bert"]
    tensors, options, message = UNFIT[case]
    adapter = read_adapter(write(tmp_path / "adapter", tensors, **options))
    before = [np.array(weight) for weight in model.weights]
    with pytest.raises(ValueError, match=rf"the adapter in .*{message}"):
        load_weights(model, adapt(find_stored(folder), adapter))
    assert all(np.array_equal(one, other) for one, other in zip(before, model.weights, strict=True))


THEIRS = {"bert": (["query", "dense"], ["word_embeddings"]), "gpt2": (["c_attn", "c_proj"], ["wte"])}
KINDS = {
    "patterns": {"rank_pattern": {"query": 4, "c_attn": 4}, "alpha_pattern": {r"^.*\.0\..*": 32}, "use_rslora": True},
    "all biases": {"bias": "all"},
    "biases": {"bias": "lora_only"},
    "dora of embeddings": {"use_dora": True},
    "half precision": {},
}


@pytest.mark.parity
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", THEIRS)
def test_logits_are_those_of_peft(ours, tmp_path, family, kind):
    peft, torch, transformers = (pytest.importorskip(name) for name in ("peft", "torch", "transformers"))
    config, architecture = MODELS[family]
    model = ours.build(config, architecture)
    ours.randomise(model)
    save_folder(tmp_path / "base", model, config, None, architecture=architecture)

    theirs = getattr(transformers, architecture).from_pretrained(
        tmp_path / "base", **({"num_labels": 3} if family == "bert" else {})
    )
    layers, embeddings = THEIRS[family]
    layers = layers + embeddings * ("embeddings" in kind)
    task = {"bert": "SEQ_CLS", "gpt2": "CAUSAL_LM"}[family]
    options = {"r": 2, "lora_alpha": 8, "task_type": task, "target_modules": layers, "fan_in_fan_out": family == "gpt2"}
    adapted = peft.get_peft_model(theirs, peft.LoraConfig(**options, **KINDS[kind]))
    random = torch.Generator().manual_seed(0)
    for parameter in adapted.parameters():
        if parameter.requires_grad:
            parameter.data += 0.2 * torch.randn(parameter.shape, generator=random)
            parameter.data = parameter.data.half().float() if kind == "half precision" else parameter.data
    if kind == "half precision":
        base, adapted = dict(theirs.state_dict()), adapted.half()
        adapted.save_pretrained(tmp_path / "adapter")
        adapted = adapted.float()
        theirs.load_state_dict(base)
    else:
        adapted.save_pretrained(tmp_path / "adapter")

    stored = adapt(find_stored(tmp_path / "base"), read_adapter(tmp_path / "adapter"))
    merged = ours.build(stored.config, architecture)
    load_weights(merged, stored)
    ids = np.arange(20, dtype="int32").reshape(2, 10) * 3 % 90
    inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids, bool), "segment_ids": np.zeros_like(ids)}
    found = merged({name: inputs[name] for name in inputs if name in {tensor.name for tensor in merged.inputs}})
    expected = adapted.eval()(torch.tensor(ids, dtype=torch.long)).logits.detach().numpy()
    np.testing.assert_allclose(found["logits"], expected, atol=1e-4)
