"""Checks of texts and lengths: what is received, and at which row."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformers.text.tokenizer import Tokenizer
from keras_transformers.utils.text_checks import check_lengths, check_text, check_texts

CORPUS = ["The cat danced on the table.", "Dogs and cats can't be friends."]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(CORPUS, vocabulary_size=60)


class Frame:
    """As of pandas, polars or pyarrow: iteration gives the names of the columns."""

    columns = "a", "b"

    def __iter__(self):
        return iter(self.columns)


def test_names_without_order_may_be_a_set():
    assert sorted(check_texts("outputs", {"a", "b"}, is_ordered=False)) == ["a", "b"]


def test_any_sequence_of_str_becomes_a_list():
    assert check_texts("texts", ("a", "", "\U0001f600")) == ["a", "", "\U0001f600"]
    assert check_texts("texts", (text for text in "ab")) == ["a", "b"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("cat", r"Expected a list of str for `names`, received one str\. Pass \[text\]\."),
        (Frame(), r"one column, such as df\['text'\]: received a Frame with the columns \['a', 'b'\]"),
        (np.array([["a", "b"]]), r"Expected one column of str for `names`, such as texts\[:, 0\]: received \(1, 2\)"),
        ({"a", "b"}, "received a set, which has no order"),
        ({"a": "b"}, "Expected a list of str for `names`, received dict"),
        (["a", b"b"], "Expected a list of str for `names`, received bytes at row 1"),
        (["a", "b", "x\udc80"], r"`names`: the text at row 2 has the lone surrogate '\\udc80' at character 1"),
    ],
)
def test_what_is_no_list_of_texts(texts, message):
    with pytest.raises(ValueError, match=message):
        check_texts("names", texts)


def test_one_text():
    assert check_text("texts", "ü", 5) == "ü"
    with pytest.raises(ValueError, match="received int at row 5"):
        check_text("texts", 1, 5)


def test_the_remedy_for_half_a_pair_works():
    """The error proposes an expression: it joins pairs, and puts U+FFFD for halves."""
    text = "\ud83d\ude00 \ud83d"
    with pytest.raises(ValueError, match="surrogatepass"):
        check_text("texts", text, 0)
    assert text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") == "\U0001f600 \ufffd"


def test_lengths(tokenizer):
    encodings = [row.encoding for row in tokenizer.encode(["the", "the cat danced"])]
    length = len(encodings[1])
    check_lengths(encodings, length)
    check_lengths(encodings, None)
    check_lengths([], 0)
    with pytest.raises(ValueError, match=f"Row 1 has {length} tokens, more than max_length={length - 1}"):
        check_lengths(encodings, length - 1)


def test_a_lone_surrogate_names_its_row(tokenizer):
    remedy = r"row 1 .*lone surrogate '\\ud83d' at character 5.*errors=.replace"
    with pytest.raises(ValueError, match=r"`texts`.*" + remedy):
        tokenizer.encode(["fine \U0001f600", "half \ud83d", "\ud800"])
    with pytest.raises(ValueError, match=r"`pairs`.*" + remedy):
        tokenizer.encode(["a", "b"], ["fine", "half \ud83d"])
    with pytest.raises(ValueError, match=remedy):
        Tokenizer.train(["fine", "half \ud83d"], vocabulary_size=40)
