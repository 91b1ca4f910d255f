"""The trie against a search for prefixes in Python."""

from __future__ import annotations

import random

import pytest
import tensorflow as tf

from keras_transformers.text.graph.trie import Trie

FIRST = {"a": 10, "ab": 11, "abca": 12, "ü😀": 13, "c": 14}
SECOND = {"b": 20, "bc": 21}
TEXT = "abcaabcü😀abü"


def points_of(text: str) -> tf.Tensor:
    return tf.constant([ord(character) for character in text], tf.int32)


def longest_prefix(text: str, vocabulary: dict[str, int]) -> tuple[int, int]:
    matches = [(len(entry), i) for entry, i in vocabulary.items() if text.startswith(entry)]
    return max(matches, default=(0, -1))


@pytest.fixture(scope="module")
def trie() -> Trie:
    return Trie(FIRST, SECOND)


@pytest.mark.parametrize("stop", [len(TEXT), 3])
def test_the_longest_match_lies_before_the_end(trie, stop):
    at = list(range(stop)) * 2
    state = [0] * stop + [1] * stop
    vectors = (tf.constant(values, tf.int64) for values in (at, [stop] * len(at), state))
    length, ids = trie.longest(points_of(TEXT), *vectors)
    expected = [longest_prefix(TEXT[i:stop], (FIRST, SECOND)[v]) for i, v in zip(at, state, strict=True)]
    assert list(zip(length.numpy().tolist(), ids.numpy().tolist(), strict=True)) == expected


def test_all_matches_by_their_ends():
    draw = random.Random(0)
    entries = {"".join(draw.choices("ab", k=draw.randint(1, 4))) for _ in range(12)}
    vocabulary = {entry: i for i, entry in enumerate(sorted(entries))}
    words = ["abab", "", "b", "aabba"]
    text = "".join(words)
    ends = [sum(map(len, words[: i + 1])) for i, word in enumerate(words) for _ in word]
    found = Trie(vocabulary).ending(points_of(text), tf.constant(ends, tf.int64)).numpy()
    begins = [sum(map(len, words[:i])) for i, word in enumerate(words) for _ in word]
    for i, begin in enumerate(begins):
        for length in range(1, found.shape[1] + 1):
            inside = i + 1 - length >= begin
            expected = vocabulary.get(text[i + 1 - length : i + 1], -1) if inside else -1
            assert found[i, length - 1] == expected, (i, length)
    assert found.shape[1] >= max(map(len, entries))


def test_no_text(trie):
    nothing = tf.zeros([0], tf.int64)
    length, ids = trie.longest(points_of(""), nothing, nothing, nothing)
    assert length.shape == ids.shape == (0,)
