"""Python's operations on strings, for a batch, beside Python."""

from __future__ import annotations

import tensorflow as tf

from keras_transformers.text.chat.graph_strings import join, split

TEXTS = ["", ",", "a", ",a", "a,", ",,b", "a,,b", ",,", "é,日本"]


def test_lists_are_joined_with_all_their_empty_texts():
    strings = split(tf.constant(TEXTS), ",")
    for separator in ("", "-", "::"):
        expected = [separator.join(text.split(",")).encode() for text in TEXTS]
        assert join(strings, separator).numpy().tolist() == expected
    nothing = split(tf.constant([], tf.string), ",")
    assert join(nothing, "-").numpy().tolist() == []
