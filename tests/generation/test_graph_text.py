"""Stop strings and errors as TensorFlow ops; readers and writer stand beside Python's in test_python_text."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from generating import causal_lm

from keras_transformers.generation.serving.graph_text import first_error, num_special, stop_bytes
from keras_transformers.generation.stop import stop_strings
from keras_transformers.text.end_token import with_end_token
from keras_transformers.text.graph.compile import compile_text


@pytest.mark.parametrize("strings", [[], ["ab"], ["a", "日本", "."]], ids=str)
def test_stop_strings_are_those_of_python(strings):
    stop, too_much = stop_bytes(tf.constant([strings] * 2, tf.string, shape=(2, len(strings))))
    expected = stop_strings(2, [string.encode() for string in strings])
    count, longest = expected.strings.shape[1:]
    np.testing.assert_array_equal(stop.lengths.numpy()[:, :count], expected.lengths)
    for row, other, length in zip(stop.strings.numpy()[0], expected.strings[0], expected.lengths[0], strict=False):
        assert row[len(row) - length :].tolist() == other[longest - length :].tolist()
    assert not too_much.numpy().any() and not stop.lengths.numpy()[:, len(strings) :].any()


def test_too_many_and_too_long_stop_strings_leave_a_row_without():
    rows = [["x" * 1025, *[""] * 64], ["x"] * 65, ["x" * 1024, *["y"] * 63, ""]]
    stop, too_much = stop_bytes(tf.constant(rows))
    assert too_much.numpy().tolist() == [True, True, False]
    assert (stop.lengths.numpy() > 0).sum(1).tolist() == [0, 0, 64]


def test_the_first_error_stays():
    error = first_error(tf.constant(["", "old", ""]), tf.constant([True, True, False]), "new")
    assert error.numpy().tolist() == [b"new", b"old", b""]


@pytest.mark.integration
def test_special_tokens_around_a_text():
    tokenizer = causal_lm().tokenizer
    ending = with_end_token(tokenizer, tokenizer.eos_id)
    assert [num_special(compile_text(one.to_json(), 0)) for one in (tokenizer, ending)] == [0, 1]
