"""Pre-tokenisers that split at delimiters: the words of the library, with every behaviour."""

from __future__ import annotations

import json
import random

import pytest
import tensorflow as tf
from tokenizers import pre_tokenizers

from keras_transformers.text.graph.pre_tokenizers.delimiters import LONGEST, Punctuation
from keras_transformers.text.graph.pre_tokenizers.split_words import words
from keras_transformers.text.graph.pre_tokenizers.splits import split_at_character, split_by_pattern
from keras_transformers.text.graph.streams.code_points import TOKEN, piece_starts

BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
STRINGS = [" ", ".", "ab", "..", "aba"]
SPLITTERS = {
    **{f"punctuation {name}": (pre_tokenizers.Punctuation(name), Punctuation) for name in BEHAVIORS},
    **{
        f"{string!r} {name}" + ", inverted" * invert: (pre_tokenizers.Split(string, name, invert), split_by_pattern)
        for string in STRINGS
        for name in BEHAVIORS
        for invert in (False, True)
    },
    "character": (pre_tokenizers.CharDelimiterSplit("b"), split_at_character),
}


def words_of(splitter, points) -> tf.RaggedTensor:
    return words(*splitter(points, piece_starts(points)))


@pytest.mark.parametrize("name", SPLITTERS)
def test_words_are_those_of_the_library(name):
    library, ours = SPLITTERS[name]
    chance = random.Random(name)
    texts = ["", " ", "...", *("".join(chance.choices("ab .,¿日é", k=12)) for _ in range(200))]
    split = words_of(ours(json.loads(library.__getstate__())), tf.strings.unicode_decode(texts, "UTF-8"))
    spelled = tf.strings.unicode_encode(split.values, "UTF-8")
    rows = tf.RaggedTensor.from_row_splits(spelled, split.row_splits).to_list()
    assert rows == [[word.encode() for word, _ in library.pre_tokenize_str(text) if word] for text in texts]


@pytest.mark.parametrize("name", BEHAVIORS)
@pytest.mark.parametrize("invert", [False, True])
def test_added_tokens_are_pieces_whatever_the_delimiter(name, invert):
    """They were dropped as the text between two matches."""
    points = tf.ragged.constant([[97, TOKEN, 97, 98], [TOKEN + 5]], tf.int32)
    split = words_of(split_by_pattern(json.loads(pre_tokenizers.Split("a", name, invert).__getstate__())), points)
    rows = [[len(word) == 1 and word[0] >= TOKEN for word in row] for row in split.to_list()]
    assert [sum(row) for row in rows] == [1, 1]


@pytest.mark.parametrize("name", BEHAVIORS)
def test_added_tokens_are_no_delimiters(name):
    points = tf.ragged.constant([[97, 98, TOKEN, 98, 99], [TOKEN + 5]], tf.int32)
    splitter = split_by_pattern(json.loads(pre_tokenizers.Split("bb", name).__getstate__()))
    assert words_of(splitter, points).to_list() == [[[97, 98], [TOKEN], [98, 99]], [[TOKEN + 5]]]


@pytest.mark.parametrize(
    "splitter",
    [pre_tokenizers.Split("", "removed"), pre_tokenizers.Split("a" * (LONGEST + 1), "removed")],
    ids=["empty", "long"],
)
def test_other_strings_are_refused_by_name(splitter):
    with pytest.raises(ValueError, match=r"The pre_tokenizer .Split by String .* cannot be compiled"):
        split_by_pattern(json.loads(splitter.__getstate__()))
