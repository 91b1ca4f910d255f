"""The service on TensorFlow: traces, requests from outside, and a batch of nothing."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from generating import causal_lm

from keras_transformers.generation.decoding import SAMPLES
from keras_transformers.generation.prompts import TEXTS
from keras_transformers.generation.request import SAMPLING_PARAMETERS, sampling_parameters_of
from keras_transformers.generation.serving.graph_text import request_of


@pytest.fixture(scope="module")
def task():
    return causal_lm()


def neutral(rows: int, **values) -> dict[str, tf.Tensor]:
    return {
        n: tf.constant(values.get(n, [knob.neutral] * rows), knob.dtype)
        for n, knob in sampling_parameters_of(1).items()
    }


def test_a_request_from_outside_is_that_of_python(task):
    request, error = request_of(neutral(2, seed=[3, 4], top_k=[5, 0]), tf.constant([["a"], [""]]), tf.constant(2))
    expected = task.parts.answers.request(2, parameters={"seed": [3, 4], "top_k": [5, 0], "max_new_tokens": 64})
    assert error.numpy().tolist() == [b"", b""]
    for name in SAMPLING_PARAMETERS:
        np.testing.assert_array_equal(getattr(request, name), getattr(expected, name))
    assert request.bias_ids.shape == (2, 0) and request.sequence.numpy().tolist() == [0, 0]


def test_the_first_knob_that_is_wrong_is_told_and_all_become_neutral():
    parameters = neutral(3, temperature=[0.5, -1.0, 0.5], top_p=[0.5, 2.0, 0.0])
    request, error = request_of(parameters, tf.constant([[""]] * 3), tf.constant(3))
    told = [message.decode().partition(" ")[0] for message in error.numpy()]
    assert told == ["", "temperature", "top_p"]
    np.testing.assert_allclose(request.temperature, [0.5, 0, 0])
    np.testing.assert_allclose(request.top_p, [0.5, 1, 1])


@pytest.mark.integration
def test_one_trace_serves_every_shape_and_knob(task):
    task.generate(["a"], max_new_tokens=2)
    run = task.service._runs[TEXTS, SAMPLES, False]
    before = run.experimental_get_tracing_count()
    task.generate(["the cat", "b", ""], max_new_tokens=[1, 2, 3], temperature=0.5, top_k=3, stop=["x", "yy"])
    task.predict(["a"], num_sequences=2, token_bias={3: 1.0}, max_new_tokens=2)
    assert run.experimental_get_tracing_count() == before == 1


@pytest.mark.integration
def test_no_texts(task):
    request, none = task.parts.answers.request(0), tf.constant([], tf.string)
    answer = task.service.run(none, none, 1, tf.nest.map_structure(tf.constant, request))
    assert {name: column.shape[0] for name, column in answer.items()} == dict.fromkeys(answer, 0)
    assert set(answer) == {"generated_text", "score", "num_tokens", "truncated", "error"}


@pytest.mark.integration
def test_an_error_from_before_is_kept_and_the_row_not_answered(task):
    request = tf.nest.map_structure(tf.constant, task.parts.answers.request(2, parameters={"max_new_tokens": 3}))
    answer = task.service.run(tf.constant(["a", "a"]), tf.constant(["refused", ""]), 1, request)
    assert answer["error"].numpy().tolist() == [b"refused", b""]
    assert answer["num_tokens"].numpy().tolist() == [[0], [3]]
