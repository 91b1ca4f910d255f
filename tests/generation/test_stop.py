from __future__ import annotations

import numpy as np
import pytest
from arrays import to_numpy

from keras_transformers.generation.spelling import byte_table
from keras_transformers.generation.stop import NOWHERE, StopStrings, empty_tail, find_stop, stop_strings

TOKENS = [b"", b"a", b"b", b"ab", b"ba", b"aab", b"\xc3", b"\xa4", b"\xc3\xa4b"]


def first_stop(tokens: list[bytes], stop: list[bytes]) -> int:
    """Where the first stop string begins in the shortest text that holds one: the plain way."""
    text = b""
    for token in tokens:
        text += token
        if found := [text.find(string) for string in stop if string in text]:
            return min(found)
    return NOWHERE


def found(rows: list[list[int]], stops: StopStrings) -> list[int]:
    """The same from `find_stop`, token by token."""
    table, tail, results = byte_table(TOKENS), empty_tail(stops), []
    for column in np.array(rows).T:
        tail, first = find_stop(tail, table[column], stops)
        before = [sum(len(TOKENS[number]) for number in row[: len(results)]) for row in rows]
        first = to_numpy(first)
        results.append(np.where(first < NOWHERE, first + before, NOWHERE))
    return [int(next((place for place in row if place < NOWHERE), NOWHERE)) for row in np.array(results).T]


@pytest.mark.parametrize(
    "stop", [[b"ab"], [b"aba", b"bb"], [b"b", b"aaaa", b"abababab"], ["äb".encode(), "ä".encode()], []]
)
def test_against_the_plain_way(stop):
    rows = np.random.default_rng(0).integers(0, len(TOKENS), (40, 7)).tolist()
    expected = [first_stop([TOKENS[number] for number in row], stop) for row in rows]
    assert found(rows, stop_strings(40, stop)) == expected
    assert not stop or sum(place < NOWHERE for place in expected) > 3


def test_stop_strings_of_each_row():
    stops = StopStrings(np.array([[[97, 98]], [[0, 98]], [[0, 98]]]), np.array([[2], [1], [0]], "int32"))
    assert found([[1, 2], [1, 2], [1, 2]], stops) == [0, 1, NOWHERE]
