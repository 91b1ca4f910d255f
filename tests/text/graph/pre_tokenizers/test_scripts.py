"""UnicodeScripts as ops: the pieces of the library."""

from __future__ import annotations

import json
import random

import pytest
import tensorflow as tf
from tokenizers import pre_tokenizers

from keras_transformers.text.graph.pre_tokenizers.scripts import UnicodeScripts
from keras_transformers.text.graph.pre_tokenizers.split_words import words
from keras_transformers.text.graph.streams.code_points import TOKEN, piece_starts
from keras_transformers.text.graph.streams.probe import SCALARS


def pieces_of(texts: list[str]) -> list[list[bytes]]:
    points = tf.strings.unicode_decode(texts, "UTF-8")
    split = words(*UnicodeScripts({})(points, piece_starts(points)))
    spelled = tf.strings.unicode_encode(split.values, "UTF-8")
    return tf.RaggedTensor.from_row_splits(spelled, split.row_splits).to_list()


def expected(texts: list[str]) -> list[list[bytes]]:
    library = pre_tokenizers.UnicodeScripts()
    return [[piece.encode() for piece, _ in library.pre_tokenize_str(text)] for text in texts]


def test_pieces_are_those_of_the_library():
    chance = random.Random(0)
    texts = ["", " ", "  ", *("".join(chance.choices("ab  1.日のー한Жαé\u0301😀\t", k=10)) for _ in range(300))]
    assert pieces_of(texts) == expected(texts)


@pytest.mark.slow
def test_every_code_point():
    for context in ("a{} ", "日 {}1"):
        parts = [context.format(chr(point)) for point in SCALARS]
        texts = ["".join(parts[begin : begin + 100]) for begin in range(0, len(parts), 100)]
        assert pieces_of(texts) == expected(texts)


def test_added_tokens_are_pieces():
    points = tf.ragged.constant([[32, TOKEN, 32, 98, 32], [TOKEN + 5, TOKEN], [], [32]], tf.int32)
    split = words(*UnicodeScripts({})(points, piece_starts(points)))
    assert json.loads(json.dumps(split.to_list())) == [[[TOKEN], [98, 32]], [[TOKEN + 5], [TOKEN]], [], []]
