"""`describe`."""

from __future__ import annotations

import sys

import keras
import pytest
from command_line import fail, run

import zoo
from keras_transformers.analysis.cost import model_flops
from keras_transformers.analysis.cost.model_flops import flops_per_token
from keras_transformers.config.choices import position_kinds


def described(*arguments: str) -> str:
    return " ".join(run("describe", *arguments).split())  # a long line is wrapped


@pytest.mark.integration(quick=["cnn_encoder"])
@pytest.mark.parametrize("name", zoo.names())
def test_describe(name, monkeypatch):
    """Of the FLOPs, which take long to count, both that they are told and that they follow from the weights."""
    counted = []
    monkeypatch.setattr(
        model_flops, "flops_per_token", lambda *arguments: counted.append(flops_per_token(*arguments)) or counted[0]
    )
    entry, text = zoo.describe(name), described(name, "--length", "16")
    for fact in (name, entry.summary, f"{entry.parameters:,}", entry.licence, entry.paper, entry.task):
        assert fact in text
    assert all(result.shown in text for result in entry.results)
    assert entry.terms in text and ("HF_TOKEN" in text) == bool(entry.terms)
    assert "B of weights in float32" in text and "FLOPs a token" in text
    assert_two_flops_for_each_weight(entry, *counted)


def assert_two_flops_for_each_weight(entry, flops):
    """Assert it of each weight that a token meets; attention's FLOPs are few at 16 tokens, an embedding has none."""
    config, met = entry.config, entry.parameters
    if config.kind == "encoder":  # the pooler is for one token, the embeddings are looked up
        positions = position_kinds(config.positions)
        looked_up = config.vocabulary_size + config.num_segments + config.max_length * ("learned" in positions)
        met -= looked_up * (config.embedding_dim or config.hidden_dim) + config.hidden_dim * (config.hidden_dim + 1)
        met *= config.num_layers // (
            config.num_block_groups or config.num_layers
        )  # a shared block is met by each layer
        if "disentangled" in positions:  # 16 tokens have 31 distances, whose vectors are projected twice in each layer
            met += 4 * config.num_layers * config.hidden_dim**2
    if config.kind == "decoder" and not config.tie_embeddings:
        met -= config.vocabulary_size * (config.embedding_dim or config.hidden_dim)
    assert 0.9 * met < flops / 2 < 1.25 * met


@pytest.mark.integration
def test_what_a_token_costs():
    """BERT base: 438 MB on disk, and 2 x 85 million weights of the blocks and 12 x 4 x 512 x 768 of attention."""
    text = described("bert_base_en_uncased")
    assert "memory 438 MB of weights in float32, 219 MB in float16" in text
    assert "forward pass 189 MFLOPs a token, at 512 tokens" in text
    assert "forward pass 175 MFLOPs a token, at 128 tokens" in described("bert_base_en_uncased", "--length", "128")
    assert "memory 6.23 GB of weights in float32" in described("gpt2_xl")


@pytest.mark.integration
def test_what_a_token_of_two_stacks_costs():
    flops = flops_per_token(zoo.describe("transformer_tiny").config, 256)
    assert f"{flops / 1e6:.3g} MFLOPs a token of the target, with the source, at 256 tokens" in described(
        "transformer_tiny"
    )


def test_a_length_that_a_model_cannot_take():
    code, message = fail("describe", "bert_tiny_en_uncased", "--length", "513")
    assert code == 2 and "--length must be at most 512, the longest text: received 513" in message


def test_a_model_that_only_its_checkpoint_describes():
    text = described("opus_mt_en_fr")
    assert "OPUS-MT, en-fr" in text and "forward pass" not in text


def test_without_tensorflow(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    assert "forward pass not counted: import of tensorflow halted" in described("mini_bert_en")


def test_with_another_backend(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    assert "forward pass not counted: Keras runs on jax" in described("mini_bert_en")
