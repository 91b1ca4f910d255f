"""Folders as other programs and older versions write them: the logits are those of `transformers`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mutations import rewrite

from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.weights.loading import load_weights

pytestmark = pytest.mark.parity
BOUND = 1e-4
BERT = {
    "vocab_size": 90, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 48,
    "max_position_embeddings": 24,
}  # fmt: skip
GPT2 = {
    "vocab_size": 90,
    "n_layer": 2,
    "n_head": 4,
    "n_embd": 32,
    "n_positions": 24,
    "bos_token_id": 1,
    "eos_token_id": 1,
}
LLAMA = BERT | {"num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}
MARIAN = {
    "vocab_size": 90, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 27,
    "pad_token_id": 89, "decoder_start_token_id": 89, "eos_token_id": 0,
}  # fmt: skip
T5 = {
    "vocab_size": 90, "d_model": 32, "d_kv": 6, "d_ff": 48, "num_layers": 2, "num_heads": 4, "n_positions": 24,
    "decoder_start_token_id": 0,
}  # fmt: skip
CLASSES = {
    "BertForMaskedLM": (BERT, "hidden_act"),
    "GPT2LMHeadModel": (GPT2, "activation_function"),
    "LlamaForCausalLM": (LLAMA, "hidden_act"),
    "MarianMTModel": (MARIAN, "activation_function"),
    "T5ForConditionalGeneration": (T5, "feed_forward_proj"),
}


def edit(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def difference(folder, reference, ours, theirs, **options):
    config, extra = read_config(folder)
    model = ours.build(config, extra["architecture"], 2)
    load_weights(model, folder, **options)
    inputs = ours.batch(config, length=24)
    return ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs))


ACTIVATIONS = (
    "gelu", "gelu_new", "gelu_python", "gelu_python_tanh", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "silu",
    "swish", "relu", "tanh",
)  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("architecture", CLASSES)
def test_names_of_activations(tmp_path, ours, theirs, architecture, name):
    options, key = CLASSES[architecture]
    reference = theirs.make(tmp_path, architecture, **options, **{key: name})
    assert difference(tmp_path, reference, ours, theirs) < BOUND


@pytest.mark.parametrize("name", ["gated-gelu", "gated-gelu_python", "gated-silu", "gated-relu", "relu", "gelu"])
def test_an_untied_t5_as_version_5_writes_it(tmp_path, ours, theirs, name):
    """It ties the matrix, whose copy it does not write, and does not scale what it multiplies."""
    options = T5 | {"feed_forward_proj": name, "tie_word_embeddings": False}
    reference = theirs.make(tmp_path, "T5ForConditionalGeneration", **options)
    values = json.loads((tmp_path / "config.json").read_text())
    assert (values["tie_word_embeddings"], values["scale_decoder_outputs"]) == (True, False)
    assert difference(tmp_path, reference, ours, theirs) < BOUND


def test_the_activation_that_t5_says_twice(tmp_path, ours, theirs):
    reference = theirs.make(tmp_path, "T5ForConditionalGeneration", **T5, feed_forward_proj="gated-gelu")
    edit(tmp_path, dense_act_fn="gelu")
    again = type(reference).from_pretrained(tmp_path).eval()
    assert again.config.dense_act_fn == "gelu"
    assert difference(tmp_path, again, ours, theirs) < BOUND < difference(tmp_path, reference, ours, theirs)


def test_a_marian_without_a_bias_of_the_logits(tmp_path, ours, theirs):
    reference = theirs.make(tmp_path, "MarianMTModel", **MARIAN)
    rewrite(tmp_path, lambda tensors: {name: x for name, x in tensors.items() if name != "final_logits_bias"})
    again = type(reference).from_pretrained(tmp_path).eval()
    assert difference(tmp_path, again, ours, theirs) < BOUND < difference(tmp_path, reference, ours, theirs)


OPTIONS = [
    ("BertForMaskedLM", {"position_embedding_type": None, "is_decoder": False, "add_cross_attention": False}),
    ("BertForMaskedLM", {"pad_token_id": -1, "classifier_dropout": None, "use_cache": True, "pruned_heads": {}}),
    ("LlamaForCausalLM", {"pad_token_id": -1}),
    ("LlamaForCausalLM", {"rope_scaling": None, "pretraining_tp": 1}),
    ("GPT2LMHeadModel", {"pad_token_id": -1, "n_inner": None}),
]


@pytest.mark.parametrize(("architecture", "changes"), OPTIONS)
def test_options_without_effect(tmp_path, ours, theirs, architecture, changes):
    theirs.make(tmp_path, architecture, **CLASSES[architecture][0])
    edit(tmp_path, **changes)
    import transformers

    again = getattr(transformers, architecture).from_pretrained(tmp_path).eval()
    assert difference(tmp_path, again, ours, theirs) < BOUND


@pytest.mark.filterwarnings("ignore:.*beside the model")
@pytest.mark.parametrize("name", ["v_head.summary.weight", "rotary_emb.inv_freq", "model.rotary_emb.inv_freq"])
def test_tensors_beside_the_model(tmp_path, ours, theirs, name):
    import torch

    reference = theirs.make(tmp_path, "LlamaForCausalLM", **LLAMA)
    rewrite(tmp_path, lambda tensors: tensors | {name: torch.ones(4)})
    assert difference(tmp_path, reference, ours, theirs) < BOUND


def test_shards_that_torch_wrote(tmp_path, ours, theirs):
    import safetensors.torch
    import torch

    reference = theirs.make(tmp_path, "BertForMaskedLM", **BERT)
    tensors = safetensors.torch.load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    places = {name: f"pytorch_model-0000{1 + i % 2}-of-00002.bin" for i, name in enumerate(tensors)}
    for place in set(places.values()):
        torch.save({name: x for name, x in tensors.items() if places[name] == place}, tmp_path / place)
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    assert difference(tmp_path, reference, ours, theirs, pickled=True) < BOUND


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_ends_of_lines_of_a_vocabulary(tmp_path, end, last):
    transformers = pytest.importorskip("transformers")
    from keras_transformers.text.tokenizer import Tokenizer

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "film", "##s"]
    (tmp_path / "vocab.txt").write_bytes(("".join(token + end for token in tokens) + last).encode())
    reference = transformers.BertTokenizer.from_pretrained(tmp_path)
    ours = Tokenizer.from_folder(tmp_path)
    texts = ["films [MASK] film", "", "x film"]
    assert [row.ids for row in ours.encode(texts)] == [reference(text)["input_ids"] for text in texts]
    assert ours.vocabulary_size == len(reference)


def test_numbers_for_labels_as_version_5_reads_them(tmp_path):
    transformers = pytest.importorskip("transformers")
    for said in ({"id2label": {"0": "no", "1": "yes"}}, {"num_labels": 3}, {"id2label": None}):
        (tmp_path / "config.json").write_text(
            json.dumps(BERT | {"model_type": "bert", "architectures": ["BertForSequenceClassification"]} | said)
        )
        expected = transformers.AutoConfig.from_pretrained(tmp_path).id2label
        assert read_config(tmp_path)[1]["labels"] == tuple(np.array([expected[i] for i in range(len(expected))]))
