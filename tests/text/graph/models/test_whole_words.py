"""Words are looked up, and the distinct others spelled, each once."""

from __future__ import annotations

import tensorflow as tf
from tokenizers import Tokenizer as Library
from tokenizers import models, pre_tokenizers

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.graph.models.whole_words import WholeWords
from keras_transformers.text.graph.pre_tokenizers.split_words import WhitespaceSplit
from keras_transformers.text.graph.streams.code_points import TOKEN, piece_starts


def split(texts: list[str]) -> tuple[tf.RaggedTensor, tf.Tensor]:
    points = tf.strings.unicode_decode(texts, "UTF-8")
    return WhitespaceSplit({})(points, piece_starts(points))


def test_others_are_spelled_once_each():
    asked = []

    def spell(words: tf.Tensor, is_tracked: bool) -> tf.RaggedTensor:
        asked.extend(words.numpy().tolist())
        return tf.RaggedTensor.from_row_lengths(tf.range(100, 106), [3, 0, 3])

    model = WholeWords({"the": 1, "ü": 2}, spell)
    rows = model(*split(["the x ü x", "", "gone the y", "x"]))
    assert asked == [b"x", b"gone", b"y"]
    spelled = {"x": [100, 101, 102], "y": [103, 104, 105]}
    assert rows.to_list() == [[1, *spelled["x"], 2, *spelled["x"]], [], [1, *spelled["y"]], spelled["x"]]


def test_known_words_and_added_tokens_are_not_spelled():
    def spell(words: tf.Tensor, is_tracked: bool) -> tf.RaggedTensor:
        raise AssertionError(words)

    model = WholeWords({b"a": 5}, spell)
    points = tf.ragged.constant([[TOKEN + 9, 97, TOKEN], [97]], tf.int32)
    assert model(points, piece_starts(points)).to_list() == [[9, 5, 0], [5]]


def test_no_known_words():
    model = WholeWords({}, lambda words, _: tf.RaggedTensor.from_row_lengths(tf.repeat(7, 2 * tf.size(words)), [2, 2]))
    assert model(*split(["a b", ""])).to_list() == [[7, 7, 7, 7], []]


def test_word_level_is_the_librarys():
    library = Library(models.WordLevel({"a": 0, "?": 1, "<pad>": 2}, unk_token="?"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    texts = ["a b a", "b", "", "?"]
    graph = compile_text(library.to_str(), pad_id=2)
    assert graph.tokenize(tf.constant(texts)).to_list() == [library.encode(text).ids for text in texts]
