"""What layers of strings are given: ids of padding, and strings whose number or rank is only known later."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_transformers.text.string_checks import own_padding, padding_of, strings
from keras_transformers.text.tokenizer import Tokenizer


def test_padding(tokenizer):
    assert own_padding(tokenizer) == padding_of(tokenizer, None) == 0
    assert padding_of(tokenizer, 5) == 5
    without = Tokenizer.train(["abc"], model="character")
    assert own_padding(without) is None
    for wrong in (-1, 1.0, True, "0"):
        with pytest.raises(ValueError, match="pad_id must be the id of a token, an integer from 0 on: received"):
            padding_of(without, wrong)


@pytest.mark.parametrize("texts", [["a", b"b"], ("a", "b"), tf.constant([["a"], ["b"]])], ids=str)
def test_strings(texts):
    assert strings(texts).numpy().ravel().tolist() == [b"a", b"b"]


def test_strings_of_unknown_rank_are_a_batch():
    seen = []
    run = tf.function(lambda texts: seen.append(strings(texts).shape.rank) or texts)
    run.get_concrete_function(tf.TensorSpec(None, tf.string))
    assert seen == [1]
