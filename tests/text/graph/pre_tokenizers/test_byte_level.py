"""ByteLevel as ops: the pieces of the library, whose letters stand for bytes."""

from __future__ import annotations

import json

import pytest
import tensorflow as tf
from tokenizers import pre_tokenizers

from keras_transformers.text.graph.pre_tokenizers.byte_level import ByteLevel
from keras_transformers.text.graph.pre_tokenizers.split_words import words
from keras_transformers.text.graph.streams.code_points import TOKEN, piece_starts
from keras_transformers.text.vocabularies.byte_pair_vocabulary import letters_to_bytes

TEXTS = ["They'll say so", " it's 12 €", "", "  two\n\nlines ", "é"]


@pytest.mark.parametrize("add_prefix_space", [False, True])
@pytest.mark.parametrize("use_regex", [False, True])
def test_pieces_are_those_of_the_library(add_prefix_space, use_regex):
    library = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)
    points = tf.strings.unicode_decode(TEXTS, "UTF-8")
    split = words(*ByteLevel(json.loads(library.__getstate__()))(points, piece_starts(points)))
    rows = tf.RaggedTensor.from_row_splits(tf.strings.unicode_encode(split.values, "UTF-8"), split.row_splits)
    expected = [[letters_to_bytes(piece) for piece, _ in library.pre_tokenize_str(text)] for text in TEXTS]
    if add_prefix_space:
        expected[TEXTS.index("")] = []  # the library puts a space there only where the text is encoded
    assert rows.to_list() == [[piece for piece in row if piece] for row in expected]


def test_no_space_before_added_tokens():
    config = {"add_prefix_space": True, "use_regex": False}
    points = tf.ragged.constant([[TOKEN + 1, 97], [32, 97]], tf.int32)
    points, starts = ByteLevel(config)(points, piece_starts(points))
    assert points.to_list() == [[TOKEN + 1, 32, 97], [32, 97]]
    assert starts.numpy().tolist() == [True, True, False, True, False]
