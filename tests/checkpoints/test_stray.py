"""Tensors beside a model are named and left; those of another model are refused; what may be left out is known."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import safetensors.numpy
from family_cases import CASES

from keras_transformers.checkpoints.settings.names import FAMILIES
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import gpt2, llama, marian, t5

SIZES = {"vocabulary_size": 90, "num_layers": 1, "num_heads": 2, "hidden_dim": 16, "max_length": 12}
MASKED = {
    case.family: (case.make(**(SIZES | {**case.own})), FAMILIES[case.family].tasks["masked_lm"])
    for case in CASES.values()
    if "masked_lm" in FAMILIES[case.family].tasks and not case.is_ours
}
MODELS = MASKED | {
    "gpt2": (gpt2(**SIZES), "GPT2LMHeadModel"),
    "llama": (llama(**SIZES, intermediate_dim=24), "LlamaForCausalLM"),
    "marian": (marian(**SIZES), "MarianMTModel"),
    "t5": (t5(**SIZES, gated=True), "T5ForConditionalGeneration"),
}
LAYER = "model.layers.0"
ONES = np.ones(3, "float32")


@pytest.fixture(scope="module")
def saved(tmp_path_factory, ours):
    """By family: a model of random weights, and the tensors of its folder."""
    made = {}
    for family, (config, architecture) in MODELS.items():
        folder = tmp_path_factory.mktemp(family)
        model = ours.build(config, architecture)
        ours.randomise(model)
        save_folder(folder, model, config, None, architecture=architecture)
        made[family] = model, folder, safetensors.numpy.load_file(folder / "model.safetensors")
    return made


def load(saved, family, tensors):
    """Loads other tensors into the model of a family, whose weights are zero before."""
    model, folder, _ = saved[family]
    before = {weight.path: np.array(weight) for weight in model.weights}
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    for weight in model.weights:
        weight.assign(np.zeros(weight.shape))
    try:
        load_weights(model, folder)
        return before, {weight.path: np.array(weight) for weight in model.weights}
    finally:
        for weight in model.weights:
            weight.assign(before[weight.path])


def same(before, after):
    return all(np.array_equal(before[path], after[path]) for path in before)


BUFFERS = [
    ("llama", "model.rotary_emb.inv_freq"),
    ("llama", f"{LAYER}.self_attn.rotary_emb.inv_freq"),
    ("llama", f"{LAYER}.self_attn.rotary_emb.cos_cached"),
    ("gpt2", "transformer.h.0.attn.bias"),
    ("gpt2", "transformer.h.0.attn.masked_bias"),
    ("bert", "bert.embeddings.token_type_ids"),
    *(
        (family, f"{FAMILIES[family].prefix}embeddings.position_ids")
        for family in MASKED
        if "position_embedding" in FAMILIES[family].weights
    ),
]


@pytest.mark.parametrize(("family", "name"), BUFFERS)
def test_known_constants_are_passed_over_in_silence(saved, family, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert same(*load(saved, family, saved[family][2] | {name: ONES}))


@pytest.mark.parametrize("family", MODELS)
def test_a_value_head_is_named_and_left(saved, family):
    with pytest.warns(UserWarning, match=r"beside the model.*not loaded: \['v_head\.summary\.weight'\]"):
        assert same(*load(saved, family, saved[family][2] | {"v_head.summary.weight": ONES}))


@pytest.mark.parametrize(("family", "name"), [("llama", "mtp.proj.weight"), ("bert", "classifier2.weight")])
def test_another_head_beside_a_model_with_prefixes_is_named_and_left(saved, family, name):
    with pytest.warns(UserWarning, match=name):
        assert same(*load(saved, family, saved[family][2] | {name: ONES}))


def test_what_stands_beside_an_incomplete_model_is_reported(saved):
    tensors = {name: array for name, array in saved["llama"][2].items() if name != "lm_head.weight"}
    with pytest.raises(ValueError, match=r"missing:\n  lm_head\.weight .*\nunexpected:\n  output\.weight$"):
        load(saved, "llama", tensors | {"output.weight": ONES})


OTHERS = [
    ("llama", f"{LAYER}.self_attn.q_proj.bias"),
    ("llama", f"{LAYER}.self_attn.q_norm.weight"),
    ("llama", "model.layers.1.self_attn.q_proj.weight"),
    ("llama", "model.embed_norm.weight"),
    ("llama", "lm_head.bias"),
    ("llama", "other.weight_scale"),
    ("gpt2", "transformer.h.0.crossattention.c_attn.weight"),
    ("bert", "bert.encoder.layer.0.attention.self.distance_embedding.weight"),
    ("t5", "embed_norm.weight"),
]


@pytest.mark.parametrize(("family", "name"), OTHERS)
def test_weights_of_another_model_are_refused(saved, family, name):
    with pytest.raises(ValueError, match=rf"unexpected:\n  {name}$"):
        load(saved, family, saved[family][2] | {name: ONES})


def test_a_file_without_prefixes_says_nothing_of_what_stands_beside(saved):
    tensors = {name.removeprefix("model."): array for name, array in saved["llama"][2].items()}
    with pytest.raises(ValueError, match=r"unexpected:\n  embed_norm\.weight$"):
        load(saved, "llama", tensors | {"embed_norm.weight": ONES})


@pytest.mark.parametrize(
    "names",
    [
        ("base_model.model.model.layers.0.self_attn.q_proj.lora_A.default.weight",),
        ("model.layers.0.self_attn.q_proj.base_layer.weight", "model.layers.0.self_attn.q_proj.lora_A.default.weight"),
        ("score.modules_to_save.default.weight",),
    ],
)
def test_adapters_that_are_not_merged_are_refused(saved, names):
    with pytest.raises(ValueError, match=rf"adapters that are not merged.*{names[0]}.*merge_and_unload"):
        load(saved, "llama", saved["llama"][2] | dict.fromkeys(names, ONES))


def test_a_marian_without_a_bias_of_the_logits(saved):
    tensors = {name: array for name, array in saved["marian"][2].items() if name != "final_logits_bias"}
    before, after = load(saved, "marian", tensors)
    assert before["output_bias/bias"].any() and not after["output_bias/bias"].any()
    assert same({path: array for path, array in before.items() if path != "output_bias/bias"}, after)


def test_the_table_stands_for_the_head_that_version_5_does_not_write_for_t5(saved):
    tensors = {name: array for name, array in saved["t5"][2].items() if name != "lm_head.weight"}
    _, after = load(saved, "t5", tensors)
    assert np.array_equal(after["lm_head/kernel"].T, after["token_embedding/embeddings"])
    config = json.loads((saved["t5"][1] / "config.json").read_text())
    assert config["tie_word_embeddings"] is False


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (family, name)
        for family in MASKED
        for name, tied in FAMILIES[family].copies.items()
        if tied.endswith("word_embeddings.weight")
    ],
)
def test_a_masked_lm_head_that_is_not_tied(saved, family, name):
    """The option itself is of no matter to models without that head."""
    tensors = saved[family][2]
    path = saved[family][1] / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tie_word_embeddings": False}))
    table = tensors[FAMILIES[family].copies[name]]
    assert same(*load(saved, family, tensors | {name: table}))
    with pytest.raises(ValueError, match=r"weight differs from .*embeddings.*nothing was loaded.*is not supported"):
        load(saved, family, tensors | {name: table + 1})
