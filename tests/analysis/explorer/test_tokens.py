from __future__ import annotations

import pytest

from keras_transformers.analysis.explorer.tokens import shown, sign
from keras_transformers.text.tokenizer import Tokenizer


def test_special_tokens_are_marked():
    tokenizer = Tokenizer.train(["a fine film"], 60)

    tokens = shown(tokenizer, tokenizer.encode(["a film"])[0].ids)

    assert (tokens.names[0], tokens.names[-1]) == ("[CLS]", "[SEP]")
    assert tokens.special == (True, *[False] * (len(tokens.names) - 2), True)


@pytest.mark.parametrize(("text", "expected"), [("a film", "a␣film"), ("a\nb\tc", "a⏎b⇥c"), ("ä😀", None)])
def test_what_cannot_be_seen_has_a_sign(text, expected):
    tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair")

    names = shown(tokenizer, tokenizer.encode([text])[0].ids).names

    assert all(names)
    assert expected is None or "".join(names) == expected


def test_a_row_without_a_token_has_its_number():
    tokenizer = Tokenizer.train(["a fine film"], 60)

    assert shown(tokenizer, [tokenizer.vocabulary_size + 3]).names == (f"#{tokenizer.vocabulary_size + 3}",)


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\u200d", "\u2028", "\u0007"])
def test_characters_that_hide_or_turn_a_text_have_their_number(hidden):
    tokenizer = Tokenizer.train([f"a{hidden} fine film"], 280, model="byte_pair")

    assert sign(hidden, alone=True) == f"U+{ord(hidden):04X}"
    assert hidden not in "".join(shown(tokenizer, tokenizer.encode([f"a{hidden} film"])[0].ids).names)


def test_tokens_that_decode_alike_look_different():
    pieces = Tokenizer.train(["a fine film", "a dull film", "fa la mi"], 30, model="unigram")
    text_bytes = Tokenizer.train(["a fine film"], 280, model="byte_pair")

    for tokenizer in (pieces, text_bytes):
        names = shown(tokenizer, range(tokenizer.vocabulary_size)).names
        assert len(set(names)) == len(names)
    assert "␣fi" in shown(pieces, range(pieces.vocabulary_size)).names
