"""Logits of decoders equal those of `transformers`, in both directions."""

import json

import keras
import numpy as np
import pytest
from mutations import drop_positions, effects, rewrite, swap_norms

import zoo
from keras_transformers.checkpoints.files.atomic_folder import check_target
from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.layers import RotaryPositions

pytestmark = pytest.mark.parity
BOUND = 1e-4
GPT = {"vocab_size": 90, "n_layer": 3, "n_head": 4, "n_embd": 32, "n_positions": 24, "pad_token_id": 3}
GPT2 = GPT | {"bos_token_id": 1, "eos_token_id": 1}
LLAMA = {
    "vocab_size": 90, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 32,
    "intermediate_size": 48, "max_position_embeddings": 24, "pad_token_id": 3, "eos_token_id": [2, 4],
    "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"},
}  # fmt: skip
CASES = {
    "gpt1": ("OpenAIGPT", GPT),
    "gpt1-silu": ("OpenAIGPT", GPT | {"afn": "silu"}),
    "gpt2": ("GPT2", GPT2),
    "gpt2-gelu-inner": ("GPT2", GPT2 | {"activation_function": "gelu", "n_inner": 40, "layer_norm_epsilon": 1e-2}),
    "gpt2-upcast": ("GPT2", GPT2 | {"reorder_and_upcast_attn": True}),
    "gpt2-untied": ("GPT2", GPT2 | {"tie_word_embeddings": False}),
    "llama": ("Llama", LLAMA),
    "llama-tied-head_dim": ("Llama", LLAMA | {"tie_word_embeddings": True, "head_dim": 12, "rms_norm_eps": 1e-2}),
    "llama-bias": ("Llama", LLAMA | {"attention_bias": True, "mlp_bias": True, "num_key_value_heads": 4}),
}
HEADS = {"OpenAIGPT": "LMHeadModel", "GPT2": "LMHeadModel", "Llama": "ForCausalLM"}


def read(folder, ours, **options):
    config, extra = read_config(folder)
    model = ours.build(config, extra["architecture"], len(extra["labels"] or ()))
    load_weights(model, folder, **options)
    return config, model


def make(folder, theirs, case, head=None, **options):
    family, values = CASES[case]
    return theirs.make(folder, family + (HEADS[family] if head is None else head), **values, **options)


def both_ways(tmp_path, ours, theirs, reference):
    config, model = read(tmp_path / "theirs", ours)
    inputs = ours.batch(config)
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < BOUND
    extra = read_config(tmp_path / "theirs")[1]
    save_folder(tmp_path / "ours", model, config, None, **extra)
    again = type(reference).from_pretrained(tmp_path / "ours").eval()
    assert ours.difference(theirs.predict(again, inputs), expected) == 0
    assert read_config(tmp_path / "ours") == (config, extra)
    return again


@pytest.mark.parametrize("case", CASES)
def test_language_models_both_ways(tmp_path, ours, theirs, case):
    reference = make(tmp_path / "theirs", theirs, case)
    again = both_ways(tmp_path, ours, theirs, reference)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        assert getattr(again.config, name) == getattr(reference.config, name)
        assert getattr(again.generation_config, name) == getattr(reference.generation_config, name)


def swap_query_and_key(model):
    attention = model.get_layer("decoder_block_0").attention
    query, key = attention.query.get_weights(), attention.key.get_weights()
    width = min(query[0].shape[-1], key[0].shape[-1])  # of the first heads, where there are fewer of the keys
    for array, other in zip(query, key, strict=True):
        array[..., :width], other[..., :width] = other[..., :width].copy(), array[..., :width].copy()
    attention.query.set_weights(query)
    attention.key.set_weights(key)


def halve_wavelengths(model):
    positions = model.get_layer("positions")
    positions.max_wavelength = positions.max_wavelength / 2


SIZES = {
    "gpt1": ("OpenAIGPTLMHeadModel", {}),
    "gpt2": ("GPT2LMHeadModel", {}),
    "smollm2_135m": ("LlamaForCausalLM", {
        "vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
        "num_attention_heads": 9, "num_key_value_heads": 3, "rms_norm_eps": 1e-5, "max_position_embeddings": 8192,
        "rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"}, "tie_word_embeddings": True,
        "bos_token_id": 0, "eos_token_id": 0, "initializer_range": 1 / 24, "gain": 1.0,
    }),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_checkpoints_of_real_size_both_ways_and_mutated(tmp_path, ours, theirs, capsys, name):
    architecture, options = SIZES[name]
    reference = theirs.make(tmp_path / "theirs", architecture, **options)
    config, model = read(tmp_path / "theirs", ours)
    assert config == zoo.describe(name).config
    inputs = ours.batch(config, rows=2, length=64)
    expected = theirs.predict(reference, inputs)
    loaded = ours.difference(ours.predict(model, inputs), expected)
    save_folder(tmp_path / "ours", model, config, None, architecture=architecture)
    del reference
    again = theirs.predict(type_of(architecture).from_pretrained(tmp_path / "ours").eval(), inputs)
    of_positions = {"rotary": halve_wavelengths, "learned": drop_positions}
    mutated = effects(
        model,
        (swap_norms, swap_query_and_key, of_positions[config.positions]),
        restore=lambda: load_weights(model, tmp_path / "theirs"),
        difference=lambda: ours.difference(ours.predict(model, inputs), expected),
    )
    scale = max(float(np.abs(array).max()) for array in expected.values())
    with capsys.disabled():
        print(f"\n{name}: loaded {loaded:.1e}, mutated {mutated}, largest logit {scale:.1f}")
    assert ours.difference(again, expected) == 0
    assert loaded < BOUND
    assert min(mutated.values()) > 100 * BOUND


def type_of(architecture):
    return getattr(pytest.importorskip("transformers"), architecture)


def with_buffers(tensors):
    """As the files of GPT-1 and GPT-2 on the hub, which were saved from the bare model: with masks, without prefix."""
    import torch

    bare = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
    triangle = torch.tril(torch.ones(24, 24))[None, None]
    for block in range(3):
        bare |= {f"h.{block}.attn.bias": triangle, f"h.{block}.attn.masked_bias": torch.tensor(-1e4)}
    return bare


def with_frequencies(tensors):
    import torch

    return tensors | {f"model.layers.{block}.self_attn.rotary_emb.inv_freq": torch.ones(4) for block in range(3)}


def with_a_copy(name):
    return lambda tensors: tensors | {"lm_head.weight": tensors[name]}


OLDER = {
    "gpt1 with masks": ("gpt1", with_buffers),
    "gpt2 with masks": ("gpt2", with_buffers),
    "gpt2 with a copy": ("gpt2", with_a_copy("transformer.wte.weight")),
    "llama with frequencies": ("llama", with_frequencies),
    "llama with a copy": ("llama-tied-head_dim", with_a_copy("model.embed_tokens.weight")),
}


@pytest.mark.parametrize("case", OLDER)
def test_older_files(tmp_path, ours, theirs, case):
    name, change = OLDER[case]
    reference = make(tmp_path, theirs, name)
    rewrite(tmp_path, change)
    config, model = read(tmp_path, ours)
    inputs = ours.batch(config)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND


def test_a_copy_that_is_none_is_refused(tmp_path, ours, theirs):
    make(tmp_path, theirs, "gpt2")
    rewrite(tmp_path, lambda tensors: tensors | {"lm_head.weight": tensors["transformer.wte.weight"] + 1})
    with pytest.raises(ValueError, match=r"lm_head\.weight differs from transformer\.wte\.weight.*tie_word_embeddings"):
        read(tmp_path, ours)


def test_bfloat16_files_load_exactly(tmp_path, ours, theirs):
    """Without a rounding: every stored number is a float32."""
    import torch

    reference = make(tmp_path, theirs, "llama").to(torch.bfloat16)
    reference.save_pretrained(tmp_path)
    config, model = read(tmp_path, ours)
    assert {weight.dtype for weight in model.trainable_weights} == {"float32"}
    for variable, name in [("lm_head/kernel", "lm_head.weight"), ("final_norm/scale", "model.norm.weight")]:
        stored = reference.state_dict()[name].float().numpy()
        ours_of_it = next(np.array(weight) for weight in model.weights if weight.path == variable)
        np.testing.assert_array_equal(ours_of_it, stored.T)
    inputs = ours.batch(config)
    reference = type(reference).from_pretrained(tmp_path, dtype=torch.float32).eval()
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND


def test_sharded_files(tmp_path, ours, theirs):
    reference = make(tmp_path / "whole", theirs, "gpt2")
    folder = tmp_path / "sharded"
    reference.save_pretrained(folder, max_shard_size="40KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    check_target(folder)
    config, model = read(folder, ours)
    inputs = ours.batch(config)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND


def test_a_classifier_of_a_language_model(tmp_path, ours, theirs):
    reference = make(tmp_path, theirs, "gpt2")
    config, _ = read_config(tmp_path)
    model = ours.build(config, "GPT2ForSequenceClassification", 2)
    assert load_weights(model, tmp_path, missing_ok=["classifier"]) == ("classifier/kernel",)
    body = keras.Model(model.input, {"hidden_states": model.output["hidden_states"]})
    inputs = ours.batch(config)
    assert ours.difference(ours.predict(body, inputs), theirs.predict(reference.transformer, inputs)) < BOUND


def test_generation_config_goes_before(tmp_path, theirs):
    make(tmp_path, theirs, "llama")
    assert read_config(tmp_path)[0].eos_ids == (2, 4)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": 5, "bos_token_id": None}))
    config, _ = read_config(tmp_path)
    assert (config.bos_id, config.eos_ids) == (1, (5,))


def test_angles_of_far_positions():
    """At position 8,000 a frequency that is rounded otherwise turns by 5e-4 more."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    rope = {"rope_theta": 100000.0, "rope_type": "default"}
    config = transformers.LlamaConfig(hidden_size=576, num_attention_heads=9, rope_parameters=rope)
    positions = np.arange(8000, 8192)[None]
    rotary = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(config)
    expected = rotary(torch.zeros(1, 1, 1), torch.from_numpy(positions))
    for ours, theirs in zip(RotaryPositions(64, 100000.0)(positions), expected, strict=True):
        np.testing.assert_allclose(np.array(ours), theirs.numpy()[..., :32], atol=1e-6)


def test_older_versions_find_the_base_of_wavelengths(tmp_path, ours, theirs):
    make(tmp_path, theirs, "llama")
    config, model = read(tmp_path, ours)
    save_folder(tmp_path / "ours", model, config, None, architecture="LlamaForCausalLM")
    values = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert values["rope_theta"] == config.max_wavelength == 500
    del values["rope_parameters"]
    (tmp_path / "ours" / "config.json").write_text(json.dumps(values))
    assert read_config(tmp_path / "ours")[0] == config
