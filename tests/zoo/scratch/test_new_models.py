"""Sizes, defaults and configurations of new models."""

from __future__ import annotations

import pytest

from keras_transformers.models import decoder, encoder
from zoo.scratch.new_models import MODELS, SIZES, new_model, sized, sizes_of
from zoo.scratch.new_vocabulary import learn_vocabulary

TEXTS = ["The cat sat on the mat, and the dog ran.\n"] * 5


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("tiny", None, None, None), (2, 2, 128)),
        (("mini", 2, None, None), (2, 4, 256)),
        ((None, 3, 3, 96), (3, 3, 96)),
        ((None, None, None, None), None),
    ],
)
def test_sizes(arguments, expected):
    assert sizes_of(*arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("huge", None, None, None), "--size must be one of tiny, mini"),
        ((None, 2, None, None), "--heads, --hidden-dim is missing"),
        ((None, 2, 3, 128), "--heads 3 do not divide --hidden-dim 128: give a width such as 126 or 129"),
        (("mini", None, 7, None), "--heads 7 do not divide --hidden-dim 256"),
    ],
)
def test_sizes_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        sizes_of(*arguments)


def test_an_unknown_kind_names_the_known_ones():
    with pytest.raises(
        ValueError, match="--model must be one of gpt2, llama, lstm, bert, t5, transformer: received 'gpt5'"
    ):
        new_model("gpt5")


@pytest.mark.parametrize("name", MODELS)
def test_configurations_have_the_special_tokens_of_the_tokenizer(name):
    tokenizer = learn_vocabulary(TEXTS, MODELS[name].tokenizer, 400, name)
    config = sized(name, SIZES["tiny"], tokenizer, 32)
    assert (config.num_layers, config.hidden_dim, config.max_length) == (2, 128, 32)
    assert config.vocabulary_size == tokenizer.vocabulary_size
    if MODELS[name].learns.writes:
        assert config.eos_ids == (tokenizer.eos_id,)
        assert decoder(config).output["hidden_states"].shape[-1] == 128
    elif name == "bert":
        assert encoder(config).output["hidden_states"].shape[-1] == 128


def test_smaller_models_learn_faster():
    rates = [MODELS["gpt2"].learning_rate(width) for _, _, width in SIZES.values()]
    assert rates == sorted(rates, reverse=True) and rates[0] == 2e-3
