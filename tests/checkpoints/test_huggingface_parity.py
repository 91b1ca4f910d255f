"""Logits equal those of `transformers`, in both directions."""

import json

import minilm
import numpy as np
import pytest
from mutations import drop_positions, effects, rewrite, swap_norms

from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder

pytestmark = pytest.mark.parity
ARCHITECTURES = (
    "BertModel",
    "BertForPreTraining",
    "BertForMaskedLM",
    "BertForNextSentencePrediction",
    "BertForSequenceClassification",
)
BOUND = 1e-4


def read(folder, ours, **options):
    config, extra = read_config(folder)
    model = ours.build(config, extra["architecture"], len(extra["labels"] or ()))
    load_weights(model, folder, **options)
    return config, model


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_small_models_both_ways(tmp_path, ours, theirs, architecture):
    options = {"num_labels": 3, "problem_type": "multi_label_classification"} if "Sequence" in architecture else {}
    reference = theirs.make(tmp_path / "theirs", architecture, hidden_act="gelu_new", **theirs.small, **options)
    config, model = read(tmp_path / "theirs", ours)
    inputs = ours.batch(config)
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < BOUND
    extra = read_config(tmp_path / "theirs")[1]
    save_folder(tmp_path / "ours", model, config, None, **extra)
    again = type(reference).from_pretrained(tmp_path / "ours").eval()
    assert ours.difference(theirs.predict(again, inputs), expected) == 0
    assert read_config(tmp_path / "ours") == (config, extra)


def swap_query_and_key(model):
    attention = model.get_layer("encoder_block_0").attention
    query, key = attention.query.get_weights(), attention.key.get_weights()
    attention.query.set_weights([query[0], key[1]])
    attention.key.set_weights([key[0], query[1]])


@pytest.mark.slow
def test_a_base_size_checkpoint_both_ways_and_mutated(tmp_path, ours, theirs, capsys):
    reference = theirs.make(tmp_path / "theirs")
    config, model = read(tmp_path / "theirs", ours)
    inputs = ours.batch(config, rows=2, length=64)
    expected = theirs.predict(reference, inputs)
    loaded = ours.difference(ours.predict(model, inputs), expected)
    save_folder(tmp_path / "ours", model, config, None, architecture="BertForPreTraining")
    again = type(reference).from_pretrained(tmp_path / "ours").eval()
    saved = ours.difference(theirs.predict(again, inputs), ours.predict(model, inputs))
    mutated = effects(
        model,
        (swap_norms, drop_positions, swap_query_and_key),
        restore=lambda: load_weights(model, tmp_path / "theirs"),
        difference=lambda: ours.difference(ours.predict(model, inputs), expected),
    )
    scale = max(float(np.abs(array).max()) for array in expected.values())
    with capsys.disabled():
        print(f"\nBERT base: loaded {loaded:.1e}, saved {saved:.1e}, mutated {mutated}, largest logit {scale:.1f}")
    assert max(loaded, saved) < BOUND
    assert min(mutated.values()) > 100 * BOUND


def legacy_names(tensors):
    import torch

    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in tensors.items()
    }
    return renamed | {"bert.embeddings.position_ids": torch.arange(24)[None]}


def copies_of_tied_weights(tensors):
    return tensors | {
        "cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"].clone(),
        "cls.predictions.decoder.bias": tensors["cls.predictions.bias"].clone(),
    }


@pytest.mark.parametrize("change", [legacy_names, copies_of_tied_weights])
def test_older_files(tmp_path, ours, theirs, change):
    reference = theirs.make(tmp_path, **theirs.small)
    rewrite(tmp_path, change)
    config, model = read(tmp_path, ours)
    inputs = ours.batch(config)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_files(tmp_path, ours, theirs, dtype):
    import torch

    reference = theirs.make(tmp_path, **theirs.small).to(getattr(torch, dtype))
    reference.save_pretrained(tmp_path)
    config, model = read(tmp_path, ours)
    assert {weight.dtype for weight in model.weights} == {"float32"}
    inputs = ours.batch(config)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference.float(), inputs)) < BOUND


def test_sharded_files(tmp_path, ours, theirs):
    reference = theirs.make(tmp_path / "whole", **theirs.small)
    reference.save_pretrained(tmp_path, max_shard_size="50KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    config, model = read(tmp_path, ours)
    inputs = ours.batch(config)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND


@pytest.mark.parametrize("zipped", [True, False])
def test_pickled_files_on_request(tmp_path, ours, theirs, zipped):
    import torch

    reference = theirs.make(tmp_path, **theirs.small)
    (tmp_path / "model.safetensors").unlink()
    torch.save(reference.state_dict(), tmp_path / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    with pytest.raises(ValueError, match=r"pytorch_model\.bin.*pickled=True"):
        read(tmp_path, ours)
    config, model = read(tmp_path, ours, pickled=True)
    inputs = ours.batch(config)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND


def test_an_encoder_takes_its_part_of_a_bigger_checkpoint(tmp_path, ours, theirs):
    reference = theirs.make(tmp_path, "BertForPreTraining", **theirs.small)
    config, _ = read_config(tmp_path)
    model = ours.build(config, "BertModel")
    assert load_weights(model, tmp_path) == ()
    inputs = ours.batch(config)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference.bert, inputs)) < BOUND


@pytest.mark.parametrize("dtype", ["float16", "float8_e4m3fn"])
def test_short_storage_is_read_by_transformers_in_float32(tmp_path, ours, theirs, dtype):
    import transformers

    model = ours.build(ours.config, "BertForSequenceClassification")
    ours.randomise(model)
    labels = ("no", "yes", "perhaps")
    save_folder(
        tmp_path, model, ours.config, None, architecture="BertForSequenceClassification", labels=labels,
        problem="single_label", dtype=dtype,
    )  # fmt: skip
    load_weights(model, tmp_path)  # rounded
    reference = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert reference.config.id2label == dict(enumerate(labels))
    assert reference.config.label2id["perhaps"] == 2
    assert reference.config.problem_type == "single_label_classification"
    inputs = ours.batch(ours.config)
    assert ours.difference(ours.predict(model, inputs), theirs.predict(reference, inputs)) < BOUND


def test_a_real_checkpoint_on_real_sentences(tmp_path, ours, theirs):
    import transformers

    from keras_transformers.text.tokenizer import Tokenizer

    sentences = ["The cat danced.", "Die Katze tanzte über die Straße!", "It was the best of times, it was the worst."]
    config, extra = read_config(minilm.folder())
    assert (config.num_layers, config.hidden_dim, extra["architecture"]) == (6, 384, "BertModel")
    model = ours.build(config, "BertModel")
    load_weights(model, minilm.folder())
    reference = transformers.BertModel.from_pretrained(minilm.folder()).eval()
    encoded = transformers.AutoTokenizer.from_pretrained(minilm.folder())(sentences, padding=True, return_tensors="np")
    names = {"token_ids": "input_ids", "segment_ids": "token_type_ids", "padding_mask": "attention_mask"}
    inputs = {name: encoded[their].astype("int32") for name, their in names.items()}
    expected = theirs.predict(reference, inputs)
    assert ours.difference(ours.predict(model, inputs), expected) < BOUND

    tokenizer = Tokenizer.from_folder(minilm.folder())
    ids = [row[keep == 1].tolist() for row, keep in zip(inputs["token_ids"], inputs["padding_mask"], strict=True)]
    assert [row.ids for row in tokenizer.encode(sentences)] == ids
    save_folder(tmp_path / "saved", model, config, tokenizer, architecture="BertModel")
    again = transformers.AutoModel.from_pretrained(tmp_path / "saved").eval()
    assert ours.difference(theirs.predict(again, inputs), expected) == 0
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")(sentences)["input_ids"] == ids
    assert json.loads((tmp_path / "saved" / "config.json").read_text())["model_type"] == "bert"
