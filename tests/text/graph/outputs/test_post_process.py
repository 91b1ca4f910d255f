"""Templates and truncation in ops, beside the library's."""

from __future__ import annotations

import json

import pytest
from tokenizers import processors

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer

LENGTHS = [(0, 0), (0, 9), (9, 0), (1, 1), (3, 9), (9, 3), (5, 5), (5, 6), (6, 5), (9, 9), (30, 2), (2, 30)]


@pytest.mark.integration(quick=["cased-14", "cased-40", "uncased-14"])
@pytest.mark.parametrize("max_length", [4, 5, 8, 9, 10, 13, 14, 40])
def test_the_longer_text_gives_way_first(tokenizer, graph, mismatches, max_length):
    texts, pairs = (["the " * n for n in column] for column in zip(*LENGTHS, strict=True))
    assert not mismatches(tokenizer, graph, texts, pairs, max_length=max_length)
    assert not mismatches(tokenizer, graph, texts, max_length=max_length)


@pytest.mark.integration
@pytest.mark.parametrize(
    "processor",
    [
        processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)),
        processors.TemplateProcessing("$A [SEP]:2", "[CLS]:1 $B:1 [SEP]:3 [SEP] $A:0", [("[CLS]", 2), ("[SEP]", 3)]),
        None,
    ],
    ids=["bert", "template", "none"],
)
def test_every_kind_of_template(mismatches, processor):
    config = json.loads(Tokenizer.train(["the cat sat"], 30).to_json())
    config["post_processor"] = processor and json.loads(processor.__getstate__())
    text = json.dumps(config)
    tokenizer = Tokenizer(type(Tokenizer.train(["a"], 30)._library).from_str(text))
    texts, pairs = ["the cat", "", "sat " * 9], ["cat", "the", "sat " * 5]
    assert not mismatches(tokenizer, compile_text(text), texts, pairs, max_length=10)
    assert not mismatches(tokenizer, compile_text(text), texts, max_length=6)


def test_rows_are_padded_to_the_longest(graph):
    rows = graph.encode(["the", "the the the"], max_length=64)
    assert rows["token_ids"].shape == (2, 5)
    assert rows["padding_mask"].numpy().tolist() == [[True] * 3 + [False] * 2, [True] * 5]
    assert rows["token_ids"].dtype == rows["segment_ids"].dtype == "int32"
