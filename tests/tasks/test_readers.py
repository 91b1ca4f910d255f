"""Readers: the graph gives the windows that the `tokenizers` library gives."""

from __future__ import annotations

import random

import numpy as np
import pytest
import questions
import tensorflow as tf

from keras_transformers.tasks.readers import GraphReader, PythonReader
from keras_transformers.tasks.span_windows import plan_windows

WORDS = ["who", "?", "ann", "sat", "New York", "ü", "中文", "İ", "[MASK]", "xyz", "a\u0301", "ﬁ", " ", "oslo."]


@pytest.fixture(scope="module")
def setup():
    return questions.answerer().parts.answers.setup


@pytest.mark.parametrize(("max_length", "stride"), [(7, 1), (12, 4), (24, 128), (24, 2)])
def test_windows(setup, max_length, stride):
    """Of questions and contexts of any length, so that some questions are cut, and some contexts are short."""
    chance = random.Random(max_length + stride)
    columns = [[" ".join(chance.choices(WORDS, k=chance.randint(0, most))) for _ in range(40)] for most in (30, 60)]
    plan = plan_windows(setup.tokenizer, max_length, stride)
    ours = GraphReader(setup).windows(*map(tf.constant, columns), plan)
    theirs = PythonReader(setup).windows(*columns, plan)
    assert ours.keys() == theirs.keys()
    for name, column in theirs.items():
        np.testing.assert_array_equal(ours[name], column, name)
    assert len(ours["row"]) > 80 and 0 < np.sum(ours["truncated"]) < 40
