"""WordPiece against the library's, on random vocabularies."""

from __future__ import annotations

import json
import random

import pytest
import tensorflow as tf
from tokenizers import Tokenizer as Library
from tokenizers import models, pre_tokenizers

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.graph.models.wordpiece import WordPiece


def library_of(vocabulary: dict[str, int], **options) -> Library:
    library = Library(models.WordPiece(vocabulary, unk_token="[UNK]", **options))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return library


@pytest.mark.integration(quick=["1-100", "2-100", "2-4", "4-4"])
@pytest.mark.parametrize("longest", [4, 100])
@pytest.mark.parametrize("seed", range(6))
def test_pieces_are_those_of_the_library(seed, longest):
    draw = random.Random(seed)
    pieces = {draw.choice(["", "##"]) + "".join(draw.choices("abü", k=draw.randint(1, 4))) for _ in range(25)}
    vocabulary = {token: i for i, token in enumerate(["[UNK]", "##", *sorted(pieces)])}
    library = library_of(vocabulary, max_input_chars_per_word=longest)
    texts = [" ".join("".join(draw.choices("abü", k=draw.randint(1, 7))) for _ in range(8)) for _ in range(40)]
    graph = compile_text(library.to_str(), pad_id=0)
    assert graph.tokenize(tf.constant(texts)).to_list() == [library.encode(text).ids for text in texts]


def test_a_word_that_cannot_be_cut_is_one_unknown_token():
    library = library_of({"[UNK]": 0, "a": 1, "##b": 2})
    graph = compile_text(library.to_str(), pad_id=0)
    assert graph.tokenize(tf.constant(["ab abc cab a"])).to_list() == [[1, 2, 0, 0, 1]]


def test_no_unknown_token():
    pipeline = json.loads(library_of({"a": 0}).to_str())
    with pytest.raises(ValueError, match=r"WordPiece: unk_token '\[UNK\]' is not in the vocabulary"):
        WordPiece(pipeline, None)
