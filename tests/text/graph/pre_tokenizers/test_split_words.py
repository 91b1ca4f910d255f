"""Pre-tokenisers as ops: the words of the library, piece by piece."""

from __future__ import annotations

import json
import random

import pytest
import tensorflow as tf
from tokenizers import pre_tokenizers

from keras_transformers.text.graph.pre_tokenizers.split_words import (
    BertPreTokenizer,
    Digits,
    FixedLength,
    WhitespaceSplit,
    words,
)
from keras_transformers.text.graph.pre_tokenizers.splits import split_by_pattern
from keras_transformers.text.graph.streams.code_points import TOKEN, piece_starts

SPLITTERS = {
    "bert": (pre_tokenizers.BertPreTokenizer(), BertPreTokenizer),
    "white space": (pre_tokenizers.WhitespaceSplit(), WhitespaceSplit),
    "digits": (pre_tokenizers.Digits(individual_digits=False), Digits),
    "each digit": (pre_tokenizers.Digits(individual_digits=True), Digits),
    "3 characters": (pre_tokenizers.FixedLength(3), FixedLength),
    "characters": (pre_tokenizers.Split("", "isolated"), split_by_pattern),
}


def random_texts() -> list[str]:
    draw = random.Random(0)
    return ["", " ", *("".join(draw.choices("ab 12²٣.,¿\t\u00a0日é\u0301", k=12)) for _ in range(200))]


@pytest.mark.parametrize("name", SPLITTERS)
def test_words_are_those_of_the_library(name):
    library, ours = SPLITTERS[name]
    splitter, texts = ours(json.loads(library.__getstate__())), random_texts()
    points = tf.strings.unicode_decode(texts, "UTF-8")
    split = words(*splitter(points, piece_starts(points)))
    spelled = tf.strings.unicode_encode(split.values, "UTF-8")
    rows = tf.RaggedTensor.from_row_splits(spelled, split.row_splits).to_list()
    assert rows == [[word.encode() for word, _ in library.pre_tokenize_str(text) if word] for text in texts]


def test_added_tokens_are_pieces():
    points = tf.ragged.constant([[97, TOKEN, 98, 99], [TOKEN + 5, TOKEN], [], [97]], tf.int32)
    assert piece_starts(points).numpy().tolist() == [True, True, True, False, True, True, True]
    for splitter in (BertPreTokenizer({}), WhitespaceSplit({})):
        split = words(*splitter(points, piece_starts(points)))
        assert split.to_list() == [[[97], [TOKEN], [98, 99]], [[TOKEN + 5], [TOKEN]], [], [[97]]]


@pytest.mark.parametrize(
    ("pattern", "behavior"),
    [({"Regex": "xy+"}, "Isolated"), ({"Regex": "x|xy"}, "MergedWithPrevious"), ({"String": ""}, "Removed")],
)
def test_other_patterns_are_refused(pattern, behavior):
    with pytest.raises(ValueError, match=r"The pre_tokenizer .Split by .* cannot be compiled into TensorFlow ops"):
        split_by_pattern({"pattern": pattern, "behavior": behavior})


def test_a_length_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"The pre_tokenizer 'FixedLength 0' .* cannot be compiled"):
        FixedLength({"length": 0})
