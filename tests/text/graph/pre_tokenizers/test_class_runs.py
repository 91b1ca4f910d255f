"""Splits at runs of classes: the words of the library, for `Whitespace` and for regular expressions."""

from __future__ import annotations

import json
import random

import pytest
import tensorflow as tf
from tokenizers import Regex, pre_tokenizers

from keras_transformers.text.graph.pre_tokenizers.class_runs import read_classes, whitespace
from keras_transformers.text.graph.pre_tokenizers.split_words import words
from keras_transformers.text.graph.pre_tokenizers.splits import split_by_pattern
from keras_transformers.text.graph.streams.code_points import TOKEN, piece_starts
from keras_transformers.text.graph.streams.probe import SCALARS

BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
LETTERS = "ab 12²٣_.,¿'\t\n\u00a0\u2028日é\u0301\u200d😀-|]"


def words_of(library: pre_tokenizers.PreTokenizer, make, texts: list[str]) -> list[list[bytes]]:
    points = tf.strings.unicode_decode(tf.constant(texts, tf.string), "UTF-8")
    split = words(*make(json.loads(library.__getstate__()))(points, piece_starts(points)))
    spelled = tf.strings.unicode_encode(split.values, "UTF-8")
    return tf.RaggedTensor.from_row_splits(spelled, split.row_splits).to_list()


def expected(library: pre_tokenizers.PreTokenizer, texts: list[str]) -> list[list[bytes]]:
    return [[word.encode() for word, _ in library.pre_tokenize_str(text) if word] for text in texts]


def random_texts(count: int = 200) -> list[str]:
    chance = random.Random(0)
    return ["", " ", *("".join(chance.choices(LETTERS, k=chance.randrange(14))) for _ in range(count))]


def test_white_space_splits_words_and_marks():
    library, texts = pre_tokenizers.Whitespace(), random_texts()
    assert words_of(library, whitespace, texts) == expected(library, texts)


@pytest.mark.slow
def test_white_space_at_every_code_point():
    library = pre_tokenizers.Whitespace()
    for context in ("a{}b ", "!{}? "):
        parts = [context.format(chr(point)) for point in SCALARS]
        texts = ["".join(parts[begin : begin + 100]) for begin in range(0, len(parts), 100)]
        assert words_of(library, whitespace, texts) == expected(library, texts)


def test_added_tokens_are_pieces():
    points = tf.ragged.constant([[97, TOKEN, 98, 32, 33], [TOKEN + 5, TOKEN], [], [32]], tf.int32)
    split = words(*whitespace({})(points, piece_starts(points)))
    assert split.to_list() == [[[97], [TOKEN], [98], [33]], [[TOKEN + 5], [TOKEN]], [], []]


@pytest.mark.integration(quick=[r"\s+"])
@pytest.mark.parametrize(
    "pattern",
    [r"\s+", r"\d", r"\p{N}{1,3}", "[0-9]", r"(\w+|[^\w\s]+)", ".", " ", r"[\]\-|]+|b", r"[^a-b\s]{1,2}", r"\||\p{P}"],
)
def test_regular_expressions_of_classes(pattern):
    texts = random_texts()
    for behavior in BEHAVIORS:
        for invert in (False, True):
            library = pre_tokenizers.Split(Regex(pattern), behavior, invert)
            assert words_of(library, split_by_pattern, texts) == expected(library, texts), (behavior, invert)


@pytest.mark.parametrize(
    "pattern",
    [
        "ab",
        "a|ab",
        r"\s+|\S?",
        r"\w|a",
        "a*",
        "a+?",
        "(?i)a",
        "[a[b]]",
        "[a&&b]",
        r"\s+(?!\S)",
        "^a",
        "a$",
        "a{2}",
        "a||b",
    ],
)
def test_other_regular_expressions_are_no_classes(pattern):
    assert read_classes(pattern) is None
