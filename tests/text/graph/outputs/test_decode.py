"""The decoder in ops gives the library's text."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.tokenizer import Tokenizer


def random_ids(size: int, rows: int = 200, length: int = 12) -> np.ndarray:
    return np.random.default_rng(3).integers(0, size, (rows, length)).astype("int32")


def texts_of(graph, ids) -> list[str]:
    return [text.decode() for text in graph.decode(ids).numpy()]


def test_text_equals_the_library(tokenizer, graph):
    ids = random_ids(tokenizer.vocabulary_size)
    ids[:50] = np.where(ids[:50] % 3, ids[:50] % 5, ids[:50])  # rows that begin with special tokens, or hold no other
    assert texts_of(graph, ids) == tokenizer.decode(ids)


def test_spaces_before_punctuation_are_cleaned_up(tokenizer, graph):
    ids = np.array([tokenizer.encode(["the cat, danced."])[0].ids], "int32")
    assert texts_of(graph, ids) == tokenizer.decode(ids)
    assert texts_of(graph, ids)[0].endswith(".") and " ." not in texts_of(graph, ids)[0]


@pytest.mark.parametrize("cleanup", [True, False])
def test_cleanup_and_prefix_are_read_from_the_json(cleanup):
    config = json.loads(Tokenizer.train(["the cat, they can't do not."], 60).to_json())
    config["decoder"]["cleanup"] = cleanup
    tokenizer = Tokenizer.train(["the cat, they can't do not."], 60)
    tokenizer._library.decoder = type(tokenizer._library.decoder)(prefix="##", cleanup=cleanup)
    ids = random_ids(tokenizer.vocabulary_size)
    assert texts_of(compile_text(json.dumps(config)), ids) == tokenizer.decode(ids)


def test_ids_outside_the_vocabulary_are_left_out(tokenizer, graph):
    inside = tokenizer.encode(["the cat"])[0].ids
    assert texts_of(graph, np.array([[-1, *inside, tokenizer.vocabulary_size, 10**6]])) == [tokenizer.decode(inside)]


def test_empty_rows_and_batches(graph):
    assert texts_of(graph, np.zeros((2, 0), "int32")) == ["", ""]
    assert texts_of(graph, np.zeros((0, 4), "int32")) == []


@pytest.mark.integration
def test_the_table_is_made_by_the_first_call_also_inside_a_function(tokenizer, tmp_path):
    module = compile_text(tokenizer.to_json())
    assert not hasattr(module.decoder, "texts")
    spec = tf.TensorSpec([None, None], tf.int32)
    decode = tf.function(module.decode, input_signature=[spec], autograph=False)
    ids = np.array([tokenizer.encode(["the cat"])[0].ids], "int32")
    expected = tokenizer.decode(ids)
    assert [text.decode() for text in decode(ids).numpy()] == expected
    assert texts_of(module, ids) == expected  # the tables do not belong to the traced function

    tf.saved_model.save(module, tmp_path, {"decode": decode})
    served = tf.saved_model.load(tmp_path).signatures["decode"](ids=tf.constant(ids))
    assert [text.decode() for text in next(iter(served.values())).numpy()] == expected


@pytest.mark.data
@pytest.mark.parametrize("vocabulary", ["bert", "gpt2"])
def test_real_vocabulary(request, vocabulary):
    tokenizer, graph = request.getfixturevalue(vocabulary), request.getfixturevalue(f"{vocabulary}_graph")
    ids = random_ids(tokenizer.vocabulary_size, rows=2_000)
    assert texts_of(graph, ids) == tokenizer.decode(ids)
