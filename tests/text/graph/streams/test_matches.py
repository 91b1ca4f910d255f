"""Strings in pieces of text: the matches of Python's `re`."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
import tensorflow as tf

from keras_transformers.text.graph.streams.code_points import TOKEN, piece_starts
from keras_transformers.text.graph.streams.matches import find_string


@pytest.mark.parametrize("string", ["a", "''", "ab", "aa", "aba", "abab"])
def test_matches_of_strings(string):
    chance = random.Random(string)
    texts = ["", *("".join(chance.choices("ab'", k=chance.randrange(12))) for _ in range(200))]
    points = tf.strings.unicode_decode(texts, "UTF-8")
    first, inside, last = find_string(points, piece_starts(points), [*map(ord, string)])
    expected, begin = np.zeros((3, points.values.shape[0]), bool), 0
    for text in texts:
        for match in re.finditer(re.escape(string), text):
            start, stop = begin + match.start(), begin + match.end()
            expected[0, start] = expected[1, start:stop] = expected[2, stop - 1] = True
        begin += len(text)
    assert expected[0].any()
    assert (np.stack([first, inside, last]) == expected).all()


def test_no_match_reaches_over_an_added_token_or_into_the_next_text():
    points = tf.ragged.constant([[97, TOKEN, 98], [97], [98, 97, 98]], tf.int32)
    assert np.flatnonzero(find_string(points, piece_starts(points), [97, 98]).first).tolist() == [5]
