from __future__ import annotations

import numpy as np
import pytest
from arrays import to_numpy

from keras_transformers.generation.stop import (
    NEVER,
    NO_BYTE,
    StopStrings,
    byte_table,
    empty_tail,
    find_stop,
    spelled,
    stop_strings,
)  # fmt: skip
from keras_transformers.generation.stream import pieces_of

TOKENS = [b"", b"a", b"b", b"ab", b"ba", b"aab", b"\xc3", b"\xa4", b"\xc3\xa4b"]


def first_stop(tokens: list[bytes], stop: list[bytes]) -> int:
    """Where the first stop string begins in the shortest text that holds one: the plain way."""
    text = b""
    for token in tokens:
        text += token
        if found := [text.find(string) for string in stop if string in text]:
            return min(found)
    return NEVER


def found(rows: list[list[int]], stops: StopStrings) -> list[int]:
    """The same from `find_stop`, token by token."""
    table, tail, results = byte_table(TOKENS), empty_tail(stops), []
    for column in np.array(rows).T:
        tail, first = find_stop(tail, table[column], stops)
        before = [sum(len(TOKENS[number]) for number in row[: len(results)]) for row in rows]
        first = to_numpy(first)
        results.append(np.where(first < NEVER, first + before, NEVER))
    return [int(next((place for place in row if place < NEVER), NEVER)) for row in np.array(results).T]


@pytest.mark.parametrize(
    "stop", [[b"ab"], [b"aba", b"bb"], [b"b", b"aaaa", b"abababab"], ["äb".encode(), "ä".encode()], []]
)
def test_against_the_plain_way(stop):
    rows = np.random.default_rng(0).integers(0, len(TOKENS), (40, 7)).tolist()
    expected = [first_stop([TOKENS[number] for number in row], stop) for row in rows]
    assert found(rows, stop_strings(40, stop)) == expected
    assert not stop or sum(place < NEVER for place in expected) > 3


def test_stop_strings_of_each_row():
    stops = StopStrings(np.array([[[97, 98]], [[0, 98]], [[0, 98]]]), np.array([[2], [1], [0]], "int32"))
    assert found([[1, 2], [1, 2], [1, 2]], stops) == [0, 1, NEVER]


def test_tables():
    assert spelled([b"a", b"<end>"], [1], 4) == [b"a", b"", b"", b""]
    np.testing.assert_array_equal(byte_table([b"", b"ab"]), [[NO_BYTE, NO_BYTE], [97, 98]])
    assert byte_table([b""]).shape == (1, 1)


@pytest.mark.parametrize("stop", [[], [b"zz"], [b"yet another one"]])
def test_pieces_are_whole_characters(stop):
    text = "wärm 😀, 日本"
    content = text.encode()
    pieces = list(pieces_of([content[:end] for end in range(len(content) + 1)], stop))
    assert "".join(pieces) == text and "\ufffd" not in text
    assert all(pieces)
    assert len(pieces) > (1 if stop and len(stop[0]) > 9 else 5)


def test_a_stop_string_is_held_back():
    """The last bytes could begin one, until it turns out that they do not."""
    contents = [b"one", b"one, <", b"one, </", b"one, </ two", b"one, </ two<", b"one, </ two"]
    assert "".join(pieces_of(contents, [b"</end>"])) == "one, </ two"
    assert all("<" not in piece for piece in list(pieces_of(contents[:3], [b"</end>"]))[:-1])


def test_bytes_that_are_no_character():
    contents = [b"a\xc3", b"a\xc3\xc3", b"a\xc3\xc3\xa4", b"a\xc3\xc3\xa4\xe6\x97"]
    assert "".join(pieces_of(contents, [])) == contents[-1].decode("utf-8", "replace")
