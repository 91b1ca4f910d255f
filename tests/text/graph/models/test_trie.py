"""The trie against a search for prefixes in Python."""

from __future__ import annotations

import pytest
import tensorflow as tf

from keras_transformers.text.graph.models.trie import Trie

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


def test_one_code_point_at_a_time(trie):
    """Entries that begin in different vocabularies; -1 where nothing goes on, which then stays."""
    state, found = tf.constant([0, 0, 1], tf.int64), []
    for letters in ("aüb", "b😀c", "cax", "abx"):
        state = trie.after(state, points_of(letters))
        found.append(trie.id_of(state).numpy().tolist())
    assert found == [[10, -1, 20], [11, 13, 21], [-1, -1, -1], [12, -1, -1]]
    assert (state.numpy() >= 0).tolist() == [True, False, False]


@pytest.mark.parametrize("longest", [512, 513])
def test_the_longest_entry(longest):
    vocabularies = FIRST, {"ü" * longest: 0}
    if longest > 512:
        with pytest.raises(ValueError, match=r"vocabulary 'with a token of 513 characters' .*up to 512 characters"):
            Trie(*vocabularies)
    else:
        assert Trie(*vocabularies).ids.numpy().tolist().count(0) == 1


def test_no_text(trie):
    nothing = tf.zeros([0], tf.int64)
    length, ids = trie.longest(points_of(""), nothing, nothing, nothing)
    assert length.shape == ids.shape == (0,)
