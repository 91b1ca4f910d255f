"""Folders of models of two stacks written and read back; no reference implementation is needed here."""

import json

import numpy as np
import pytest
import safetensors.numpy
from small_seq2seq import whole_model

from keras_transformers.checkpoints.settings.huggingface_config import read_config
from keras_transformers.checkpoints.weights.loading import load_weights
from keras_transformers.checkpoints.weights.saving import save_folder
from keras_transformers.families import bart, marian, mbart, t5, transformer

SIZES = {"vocabulary_size": 90, "num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 12}
PAIRS = {
    "TransformerForSeq2SeqLM": transformer(**SIZES, output_bias=True),
    "Transformer": transformer(**SIZES, tie_embeddings=False, encoder_vocabulary_size=80),
    "MarianMTModel": marian(**SIZES, encoder_vocabulary_size=80),
    "MarianModel": marian(**SIZES),
    "T5ForConditionalGeneration": t5(**SIZES, gated=True),
    "T5Model": t5(**SIZES),
    "BartForConditionalGeneration": bart(**SIZES, num_decoder_layers=1),
    "MBartForConditionalGeneration": mbart(**SIZES, tie_embeddings=False),
}


def values(model):
    return {weight.path: np.array(weight) for weight in model.weights}


def same(left, right):
    return left.keys() == right.keys() and all((left[path] == right[path]).all() for path in left)


@pytest.mark.integration
@pytest.mark.parametrize("architecture", PAIRS)
def test_round_trip_of_two_stacks(tmp_path, ours, architecture):
    config = PAIRS[architecture]
    model = whole_model(config)
    ours.randomise(model)
    save_folder(tmp_path, model, config, None, architecture=architecture)
    assert read_config(tmp_path)[0] == config
    again = whole_model(config)
    kept = load_weights(again, tmp_path, missing_ok=("lm_head", "output_bias"))
    assert kept == (("lm_head/kernel",) if architecture == "Transformer" else ())
    before = {path: array for path, array in values(model).items() if path not in kept}
    if architecture == "MarianModel":  # without the head it has no bias of the logits, which is then zero
        before["output_bias/bias"] *= 0
    assert same(before, {path: array for path, array in values(again).items() if path not in kept})


def test_names_of_our_own(tmp_path, ours):
    config = PAIRS["TransformerForSeq2SeqLM"]
    model = ours.build(config, "TransformerForSeq2SeqLM")
    save_folder(tmp_path, model, config, None, architecture="TransformerForSeq2SeqLM")
    tensors = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    assert {"token_embedding.weight", "decoder_block_1.cross_attention.query.bias", "output_bias.bias"} <= set(tensors)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "transformer"


def test_rows_that_bart_never_uses(tmp_path, ours):
    config = PAIRS["BartForConditionalGeneration"]
    model = ours.build(config, "BartForConditionalGeneration")
    ours.randomise(model)
    save_folder(tmp_path, model, config, None, architecture="BartForConditionalGeneration")
    tensors = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    positions = tensors["model.decoder.embed_positions.weight"]
    assert positions.shape == (14, 16) and not positions[:2].any()
    assert (positions[2:] == values(model)["decoder_position_embedding/embeddings"]).all()
    assert tensors["final_logits_bias"].shape == (1, 90) and not tensors["final_logits_bias"].any()


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [{"norm_order": "pre", "gated": True, "embedding_norm": True}, {"positions": "learned"}, {"positions": "relative"}],
    ids=str,
)
def test_transformers_unlike_the_papers(tmp_path, ours, options):
    config, architecture = transformer(**SIZES, **options), "TransformerForSeq2SeqLM"
    model = ours.build(config, architecture)
    ours.randomise(model)
    save_folder(tmp_path, model, config, None, architecture=architecture)
    assert read_config(tmp_path)[0] == config
    again = ours.build(config, architecture)
    load_weights(again, tmp_path)
    assert same(values(model), values(again))
