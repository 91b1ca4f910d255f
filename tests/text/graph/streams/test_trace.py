"""A text graph is traced once for all functions, data sets and pairs of texts, and a SavedModel holds no more of it."""

from __future__ import annotations

import functools

import pytest
import tensorflow as tf

from keras_transformers.text.graph.compile import TextGraph, compile_text
from keras_transformers.text.graph.streams.trace import traced_loop, traced_once

TEXTS = ["the cat", "", "a dog sat"]


@pytest.fixture
def traced(tokenizer, monkeypatch) -> tuple[TextGraph, list]:
    """A text graph of its own, and a list that grows with each trace of its tokenizer."""
    traces = []
    whole = TextGraph._tokenize

    def noted(self, texts):
        if tf.inside_function():
            traces.append(texts)
        return whole(self, texts)

    monkeypatch.setattr(TextGraph, "_tokenize", noted)
    return compile_text(tokenizer.to_json()), traces


@pytest.mark.integration
def test_one_trace_serves_functions_data_sets_and_pairs(traced):
    graph, traces = traced
    encode = functools.partial(graph.encode, max_length=8)
    expected = encode(tf.constant(TEXTS), tf.constant(TEXTS))["token_ids"].numpy().tolist()
    assert traces == []  # eager calls trace nothing
    for _ in range(2):
        rows = tf.function(lambda texts: encode(texts, texts))(tf.constant(TEXTS))
        assert rows["token_ids"].numpy().tolist() == expected
        data = tf.data.Dataset.from_tensor_slices(TEXTS).batch(3).map(lambda texts: encode(texts, texts))
        assert next(iter(data))["token_ids"].numpy().tolist() == expected
    assert len(traces) == 1


def test_lists_of_texts_and_any_batch():
    lengths = traced_once(tf.strings.length)
    assert lengths(tf.constant(["ab"])).numpy().tolist() == [2]
    assert tf.function(lambda: lengths(["a", "bcd"]))().numpy().tolist() == [1, 3]
    function = tf.function(lengths)
    assert [function(tf.constant(["a"] * n, tf.string)).shape[0] for n in range(3)] == [0, 1, 2]


@pytest.mark.integration
def test_loops_are_traced_once_for_eager_calls_and_are_part_of_other_traces():
    traces = []

    def power(n):
        traces.append(n)
        return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2), (0, 1))[1]

    loop = traced_loop(power, [tf.TensorSpec([], tf.int32)])
    assert [loop(tf.constant(n)).numpy() for n in (3, 10)] == [8, 1024] and len(traces) == 1
    ops = tf.function(lambda: loop(tf.constant(3))).get_concrete_function().graph.get_operations()
    assert len(traces) == 2 and not any("Call" in op.type for op in ops)


@pytest.mark.integration
def test_a_saved_model_holds_the_graph_once(traced, tmp_path):
    graph, _ = traced
    module = tf.Module()
    module.graph = graph
    spec = tf.TensorSpec([None], tf.string)
    encode = tf.function(lambda texts, pairs: graph.encode(texts, pairs, max_length=8), input_signature=[spec, spec])
    tf.saved_model.save(module, tmp_path, signatures={"serving_default": encode.get_concrete_function()})
    loaded = tf.saved_model.load(tmp_path)
    assert not hasattr(loaded.graph, "tokenize") and not hasattr(loaded.graph, "_tokenize_once")
    answer = loaded.signatures["serving_default"](texts=tf.constant(TEXTS), pairs=tf.constant(TEXTS))
    assert (
        answer["token_ids"].numpy().tolist() == graph.encode(TEXTS, TEXTS, max_length=8)["token_ids"].numpy().tolist()
    )
