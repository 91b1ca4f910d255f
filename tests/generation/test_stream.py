from __future__ import annotations

import pytest

from keras_transformers.generation.stream import pieces_of


@pytest.mark.parametrize("stop", [[], [b"zz"], [b"yet another one"]])
def test_pieces_are_whole_characters(stop):
    text = "wärm 😀, 日本"
    content = text.encode()
    pieces = list(pieces_of([content[:end] for end in range(len(content) + 1)], max(map(len, stop), default=0)))
    assert "".join(pieces) == text and "\ufffd" not in text
    assert all(pieces)
    assert len(pieces) > (1 if stop and len(stop[0]) > 9 else 5)


def test_a_stop_string_is_held_back():
    """The last bytes could begin one, until it turns out that they do not."""
    contents = [b"one", b"one, <", b"one, </", b"one, </ two", b"one, </ two<", b"one, </ two"]
    assert "".join(pieces_of(contents, len(b"</end>"))) == "one, </ two"
    assert all("<" not in piece for piece in list(pieces_of(contents[:3], len(b"</end>")))[:-1])


def test_bytes_that_are_no_character():
    contents = [b"a\xc3", b"a\xc3\xc3", b"a\xc3\xc3\xa4", b"a\xc3\xc3\xa4\xe6\x97"]
    assert "".join(pieces_of(contents, 0)) == contents[-1].decode("utf-8", "replace")
