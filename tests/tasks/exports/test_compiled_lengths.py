"""Lengths that a single row is padded to: few, and never shorter than the row."""

from __future__ import annotations

from itertools import pairwise

import pytest

from keras_transformers.tasks.exports.compiled_lengths import MOST_TOKENS, compiled_lengths, padded_length


@pytest.mark.parametrize("max_length", [1, 6, 7, 8, 9, 30, 511, 512, 513, 8192])
def test_lengths_end_with_the_longest_row(max_length):
    lengths = compiled_lengths(max_length)
    assert lengths == sorted({*lengths})
    assert lengths[-1] == min(max_length, MOST_TOKENS)
    assert len(lengths) <= 25  # programs of one signature
    for shorter, longer in pairwise(lengths[1:]):
        assert longer <= 1.25 * shorter


@pytest.mark.parametrize("max_length", [3, 30, 1024])
def test_a_row_is_padded_to_the_next_length(max_length):
    lengths = compiled_lengths(max_length)
    for tokens in {1, 2, 3, 8, 9, 29, 30, 511, 512} & {*range(lengths[-1] + 1)}:
        assert int(padded_length(tokens, max_length)) == min(length for length in lengths if length >= tokens)


@pytest.mark.parametrize("tokens", [513, 600, 1024])
def test_longer_rows_keep_their_length(tokens):
    assert int(padded_length(tokens, 1024)) == tokens
