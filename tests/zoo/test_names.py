"""What the zoo says of its models, against the models themselves and the papers."""

from __future__ import annotations

import dataclasses
import json

import keras
import pytest
from shapes import shapes_only

import zoo
from keras_transformers.checkpoints.hub import parse
from keras_transformers.checkpoints.huggingface_config import make_config, read_config
from keras_transformers.checkpoints.names import architecture_of
from keras_transformers.config import TransformerConfig
from keras_transformers.heads import language_model_head, pooler
from keras_transformers.models import decoder, encoder
from keras_transformers.tasks import TASKS
from zoo._entry import BUNDLED, Entry

PUBLISHED = {  # encoder with pooler; decoder with its head
    "bert_tiny_en_uncased": 4_385_920,
    "bert_mini_en_uncased": 11_170_560,
    "bert_small_en_uncased": 28_763_648,
    "bert_medium_en_uncased": 41_373_184,
    "bert_base_en_uncased": 109_482_240,
    "bert_base_en_cased": 108_310_272,
    "bert_large_en_uncased": 335_141_888,
    "bert_large_en_cased": 333_579_264,
    "gpt1": 116_534_784,
    "gpt2": 124_439_808,
    "gpt2_medium": 354_823_168,
    "gpt2_large": 774_030_080,
    "gpt2_xl": 1_557_611_200,
    "distilgpt2": 81_912_576,
    "smollm2_135m": 134_515_008,
    "smollm2_360m": 361_821_120,
}


def whole(config: TransformerConfig) -> keras.Model:
    """What the parameters of an entry are counted of."""
    model = {"encoder": encoder, "decoder": decoder}[config.kind](config, dtype="float32")
    states = model.output["hidden_states"]
    if config.kind == "encoder":
        return keras.Model(model.input, pooler(config, states, "float32"))
    return keras.Model(model.input, language_model_head(config, model.get_layer("token_embedding"), states))


@pytest.mark.parametrize("name", zoo.names())
def test_parameters_are_those_of_the_model(name):
    entry = zoo.describe(name)
    with shapes_only():
        assert whole(entry.config).count_params() == entry.parameters


@pytest.mark.parametrize(("name", "parameters"), PUBLISHED.items())
def test_parameters_are_the_published_ones(name, parameters):
    assert zoo.describe(name).parameters == parameters


# The config.json of the release, but for what says nothing of the model.
RELEASED = {
    "gpt1": {
        "afn": "gelu", "architectures": ["OpenAIGPTLMHeadModel"], "attn_pdrop": 0.1, "embd_pdrop": 0.1,
        "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "openai-gpt", "n_ctx": 512,
        "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 512, "n_special": 0,
        "predict_special_tokens": True, "resid_pdrop": 0.1, "vocab_size": 40478,
    },
    "distilgpt2": {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
        "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "id2label": {"0": "LABEL_0"},
        "initializer_range": 0.02, "label2id": {"LABEL_0": 0}, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
        "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_inner": None, "n_layer": 6, "n_positions": 1024,
        "resid_pdrop": 0.1, "vocab_size": 50257,
    },
    "smollm2_135m": {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 0,
        "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
        "intermediate_size": 1536, "is_llama_config": True, "max_position_embeddings": 8192, "model_type": "llama",
        "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1,
        "rms_norm_eps": 1e-05, "rope_interleaved": False, "rope_scaling": None, "rope_theta": 100000,
        "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_cache": True, "vocab_size": 49152,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RELEASED)
def test_the_configuration_is_that_of_the_release(name, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(RELEASED[name]))
    config, extra = read_config(tmp_path)
    assert config == zoo.describe(name).config
    assert extra["architecture"] == architecture_of(zoo.describe(name).task, config.family)


@pytest.mark.parity
@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_of_transformers(name):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    config = zoo.describe(name).config
    architecture = architecture_of("causal_lm", config.family) if config.kind == "decoder" else "BertModel"
    kind = getattr(transformers, architecture)
    with torch.device("meta"):
        model = kind(kind.config_class(**make_config(config, architecture)))
    assert model.num_parameters() == PUBLISHED[name]


@pytest.mark.parametrize("name", zoo.names())
def test_an_entry_is_complete(name):
    entry = zoo.describe(name)
    assert entry.name == name
    assert entry.task in TASKS
    assert entry.licence and entry.summary.endswith(".")
    assert entry.paper.startswith("https://")
    assert entry.bundled or parse(entry.source)[0].count("/") == 1
    assert zoo.names(name) == [name]


def test_an_entry_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        zoo.describe("mini_bert_en").parameters = 1


def test_bundled_and_other_names_are_all():
    bundled, others = zoo.names(bundled=True), zoo.names(bundled=False)
    assert bundled == sorted(path.parent.name for path in BUNDLED.glob("*/model.safetensors"))
    assert sorted(bundled + others) == zoo.names()


def test_names_by_pattern():
    assert zoo.names("bert_large*") == ["bert_large_en_cased", "bert_large_en_uncased"]
    assert zoo.names("gpt2*") == ["gpt2", "gpt2_large", "gpt2_medium", "gpt2_xl"]
    assert zoo.names("t5*") == []


NEAREST = {"bert_base_uncased": "bert_base_en_uncased", "minibert": "mini_bert_en"}


@pytest.mark.parametrize(("wrong", "nearest"), NEAREST.items())
def test_a_wrong_name_brings_the_nearest(wrong, nearest):
    with pytest.raises(ValueError, match=f"no model '{wrong}'.*{nearest}"):
        zoo.describe(wrong)


def test_private_files_are_no_models():
    with pytest.raises(ValueError, match="no model '_load'"):
        zoo.describe("_load")


def test_load_is_a_function_of_the_package():
    assert "load" in zoo.__all__ and zoo.load.__doc__.startswith("Load a model by name")
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = zoo.lode


def test_fine_tuning_options_are_those_of_fit():
    known = set(TASKS["classification"].fit.__kwdefaults__)
    assert {field.name for field in dataclasses.fields(Entry)} >= {"fit", "results"}
    assert all(set(zoo.describe(name).fit) <= known for name in zoo.names())
