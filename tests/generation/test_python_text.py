"""Readers and the writer without TensorFlow, beside those of the graph; the services stand in tests/tasks."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from generating import causal_lm
from translating import make_sources, seq2seq_lm, text_of

from keras_transformers.generation import python_text
from keras_transformers.generation.serving import graph_text
from keras_transformers.generation.spelling import spell
from keras_transformers.generation.state import BEYOND, Written

PROMPTS = ["the cat", "", "日本", "a wärm day, " * 20, "a"]


def both(task, name: str, texts: list[str], new: list[int]) -> list:
    """The prompts of the Python reader, and those of the graph's."""
    new = np.array(new, np.int32)
    of_python = getattr(python_text, name)(task.config, task.tokenizer, task.max_length)(texts, new)
    reader = getattr(graph_text, name)(task.config, task.parts.answers.setup.text_graph, task.max_length)
    return [of_python, reader(tf.constant(texts), tf.constant(new), tf.constant([""] * len(texts)))]


def check_same(of_python, of_graph) -> None:
    lengths = of_graph.lengths.numpy()
    np.testing.assert_array_equal(of_python.lengths, lengths)
    for one, other, length in zip(of_python.token_ids, of_graph.token_ids.numpy(), lengths, strict=True):
        assert one[:length].tolist() == other[:length].tolist()
    assert of_python.truncated.tolist() == of_graph.truncated.numpy().tolist()
    assert of_python.error.tolist() == [error.decode() for error in of_graph.error.numpy()]
    assert of_python.source.keys() == of_graph.source.keys()
    width = of_graph.source["encoder_token_ids"].shape[1] if of_graph.source else 0
    for name, column in of_graph.source.items():
        np.testing.assert_array_equal(of_python.source[name][:, :width], column.numpy())


@pytest.mark.integration
@pytest.mark.parametrize("end_token", [True, False])
@pytest.mark.parametrize("new", [[5] * 5, [1, 47, 48, 40, 100]], ids=str)
def test_prompts_are_those_of_the_graph(end_token, new):
    of_python, of_graph = both(causal_lm(end_token=end_token), "PromptReader", PROMPTS, new)
    check_same(of_python, of_graph)
    assert bool(of_python.error[1]) == (not end_token or new[1] > 47)
    assert of_python.truncated[3]


@pytest.mark.integration
def test_sources_are_those_of_the_graph():
    task = seq2seq_lm()
    sources = [*make_sources(task, 3), text_of([7] * 100), "", ""]
    of_python, of_graph = both(task, "SourceReader", sources, [5, 63, 64, 5, 64, 5])
    check_same(of_python, of_graph)
    errors = [error[:14] for error in of_python.error]
    assert errors == ["", "", "max_new_tokens", "", "The text is bl", "The text is bl"]


@pytest.mark.parametrize("begins", [True, False])
def test_texts_are_those_of_the_graph(begins):
    task = causal_lm()
    spelling = spell(task.tokenizer, task.config, begins)
    ids = np.random.default_rng(0).integers(0, task.config.vocabulary_size, (8, 12)).astype("int32")
    lengths, new = np.full(8, 11, "int32"), np.array([0, 1, 5, 9, 10, 3, 2, 7], "int32")
    kept = np.array([BEYOND, BEYOND, 3, 0, BEYOND, BEYOND, 1, BEYOND], "int32")
    of_python = python_text.Writer(spelling, begins)(Written(ids, lengths, new, kept, None))
    of_graph = graph_text.Writer(spelling, begins)(Written(*map(tf.constant, (ids, lengths, new, kept)), None))
    assert of_python == of_graph.numpy().tolist()
    assert sum(map(len, of_python)) > 20


@pytest.mark.parametrize(("number", "expected"), [(1, 16), (16, 16), (17, 32), (65, 70), (70, 70), (71, 70)])
def test_buckets(number, expected):
    assert python_text.bucket(number, 70) == expected
