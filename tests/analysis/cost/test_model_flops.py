"""FLOPs a token of models, against whole graphs and what others have published."""

from __future__ import annotations

from itertools import product

import keras
import pytest

import zoo
from keras_transformers.analysis.cost.complexity import complexity
from keras_transformers.analysis.cost.model_flops import flops_per_token, whole_model
from keras_transformers.families import albert, bert, eurobert, gpt2, modernbert, t5, transformer

SMALL = {
    "bert": lambda: bert(50, num_layers=4, num_heads=2, hidden_dim=8),
    "modernbert": lambda: modernbert(50, num_layers=5, num_heads=2, hidden_dim=8, intermediate_dim=12),
    "eurobert": lambda: eurobert(50, num_layers=3, num_heads=2, hidden_dim=8, intermediate_dim=12),
    "gpt2": lambda: gpt2(50, num_layers=1, num_heads=2, hidden_dim=8),
    "t5": lambda: t5(50, num_layers=3, num_heads=2, hidden_dim=8),
    "transformer": lambda: transformer(50, num_layers=3, num_heads=2, hidden_dim=8),
}


@pytest.mark.integration
@pytest.mark.parametrize(("family", "length"), [*product(SMALL, [1, 5]), ("modernbert", 4096)])
def test_blocks_that_are_multiplied_are_those_of_the_whole_graph(family, length):
    model = whole_model(SMALL[family]())
    inputs = {name: keras.KerasTensor((1, length), "int32") for name in model.input}
    assert flops_per_token(SMALL[family](), length) == complexity(model, inputs).flops / length


@pytest.mark.integration
def test_bert_base_takes_what_is_published():
    """22.5 billion for 128 tokens: Sun et al. 2020, MobileBERT, https://arxiv.org/abs/2004.02984, table 4."""
    config = zoo.describe("bert_base_en_uncased").config
    assert 128 * flops_per_token(config, 128) == pytest.approx(22.5e9, rel=0.01)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["gpt2", "gpt2_xl"])
def test_gpt2_takes_what_kaplan_et_al_expect(name):
    """2 N + 2 layers x context x width (table 1), with N = 12 x layers x width² without embeddings.

    They count half of the scores, those that a causal mask leaves; and no output layer.
    """
    config, length = zoo.describe(name).config, 1024
    layers, width = config.num_layers, config.hidden_dim
    theirs = 2 * 12 * layers * width**2 + 2 * layers * length * width
    masked, output = 2 * layers * length * width, 2 * config.vocabulary_size * width
    assert flops_per_token(config, length) == theirs + masked + output


@pytest.mark.parametrize("length", [0, 2.5, 513, True])
def test_lengths_that_a_model_cannot_take(length):
    with pytest.raises(ValueError, match=rf"at most 512, the model's longest text: received {length}"):
        flops_per_token(bert(50, num_layers=1, num_heads=2, hidden_dim=8), length)


@pytest.mark.integration
def test_relative_positions_have_no_longest_text():
    config = t5(100, num_layers=1, num_heads=2, hidden_dim=16, max_length=32)
    assert flops_per_token(config, length=64) > flops_per_token(config, length=32)


@pytest.mark.integration
def test_shared_blocks_cost_what_others_do():
    sizes = {"num_layers": 4, "num_heads": 2, "hidden_dim": 16, "embedding_dim": 8}
    groups = [flops_per_token(albert(100, **sizes, num_block_groups=number), 8) for number in (1, 2, 4)]
    assert len({*groups}) == 1
