from __future__ import annotations

import pytest
from family_cases import CASES

from keras_transformers import families
from keras_transformers.analysis.explorer.words import about, token_facts
from keras_transformers.config.choices import NORM_ORDERS

SIZES = {"vocabulary_size": 99, "num_layers": 2, "num_heads": 4, "hidden_dim": 16, "max_length": 12}
INNER = {"intermediate_dim": 24}
TWO = {"kind": "encoder_decoder"}
CONFIGS = {
    "bert": families.bert(**SIZES),
    "gpt1": families.gpt1(**SIZES),
    "gpt2": families.gpt2(**SIZES),
    "llama": families.llama(**SIZES, **INNER, num_kv_heads=2),
    "one key for all": families.llama(**SIZES, **INNER, num_kv_heads=1),
    "windows": families.llama(**SIZES, **INNER, block_options=[{"attention_window": 8}, {"rotary": False}]),
    "two kinds of positions": families.bert(**SIZES, positions=("learned", "relative")),
    "encoder with windows": families.bert(**SIZES, block_options=[{"attention_window": 8}]),
    "transformer": families.transformer(**SIZES),
    "t5": families.t5(**SIZES),
    "lstm": families.recurrent(**SIZES, **INNER),
    "lstm encoder": families.recurrent(**SIZES, **INNER, kind="encoder"),
    "cnn encoder": families.convolutional(**SIZES, **INNER),
    "rnn with attention": families.recurrent(**SIZES, **INNER, **TWO),
    "rnn": families.recurrent(**SIZES, **INNER, **TWO, cross_attention=False),
}
# Of each model words that are to be there, and words that would be false.
SAID = {
    "bert": (["an encoder of 2 layers", "sides, to the ends", "learned vector", "post-norm"], ["before it", "RoPE"]),
    "gpt1": (["a decoder", "itself and those before it", "post-norm"], ["both sides", "pre-norm"]),
    "gpt2": (["itself and those before it", "norm is applied before", "gelu_tanh."], ["both sides", "gate", "share"]),
    "llama": (["each 2 of them share", "RoPE", "RMS norm", "silu, times a gate"], ["learned", "layer norm"]),
    "one key for all": (["; all of them share"], ["each 4"]),
    "windows": (["In 1 of 2 layers", "window of 8 tokens", "1 of 2 layers go without"], ["both sides"]),
    "two kinds of positions": (["added to the embeddings; a learned number for each bucket of distances"], ["RoPE"]),
    "encoder with windows": (["In 2 of 2 layers", "window of 8 tokens", "both sides."], ["to the ends"]),
    "transformer": (["sines", "reads the source", "post-norm", "In the encoder a token"], ["relative", "learned"]),
    "t5": (["distances", "RMS norm", "pre-norm", "relu."], ["embeddings", "gate"]),
    "lstm": (["LSTM", "there are no heads", "Positions: none", "is computed from itself"], ["attends", "feed-forward"]),
    "lstm encoder": (["LSTM", "computed from those on both sides, to the ends"], ["before it"]),
    "cnn encoder": (["convolution over 3 tokens", "both sides."], ["to the ends", "attends"]),
    "rnn with attention": (["4 heads of width 4 attend to", "by cross-attention"], ["no heads", "last token"]),
    "rnn": (["there are no heads", "state made from the last token of the source"], ["attends", "attention"]),
}  # fmt: skip

POSITIONS = {"learned": "learned vector", "sinusoidal": "sines", "rotary": "RoPE", "relative": "bucket of distances",
             "disentangled": "vectors of distances"}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_said_holds_for_the_model(name):
    said = " ".join(about(CONFIGS[name], 1234).facts)

    true, false = SAID[name]
    assert [words for words in true if words not in said] == [], said
    assert [words for words in false if words in said] == [], said
    assert "1,234 parameters" in said and "width 16" in said


@pytest.mark.parametrize("name", CASES)
def test_choices_of_every_family_are_said(name):
    """Its own ones, and none of those that it did not make."""
    config = CASES[name].small()
    said = " ".join(about(config, 1234).facts)

    assert f"{config.family}:" in said and f"({config.norm_order}-norm)" in said
    assert sum(f"({order}-norm)" in said for order in NORM_ORDERS) == 1
    assert [kind for kind, words in POSITIONS.items() if words in said] == list(config.position_kinds), said


@pytest.mark.parametrize(
    ("name", "is_causal", "way", "title"),
    [
        ("bert", False, "attention", "self-attention"),
        ("gpt2", True, "attention", "causal self-attention"),
        ("windows", True, None, "causal self-attention"),
        ("t5", True, "attention", "the decoder's self-attention"),
        ("lstm", True, "recurrent", "causal self-attention"),
        ("lstm encoder", False, "recurrent", "self-attention"),
        ("cnn encoder", False, "convolutional", "self-attention"),
    ],
)
def test_names_and_pictures_are_those_of_the_kind_of_model(name, is_causal, way, title):
    said = about(CONFIGS[name], 1)

    assert (said.is_causal, said.way, said.titles["self"]) == (is_causal, way, title)


def test_signs_are_explained_where_there_are_any():
    assert token_facts(["[CLS]", "film", "##s", "##"]) == [
        "A token that begins with ## continues the previous token's word."
    ]
    assert token_facts(["␣a", "film"]) == ["␣ in a token is a space that belongs to it."]
    assert token_facts(["a", "##"]) == []
