"""Encoding: special tokens, offsets, truncation, windows, and what is refused."""

from __future__ import annotations

import pytest
import tokenizers

from keras_transformers.text.tokenizer import Tokenizer


def test_encode_wraps_and_points_into_the_text(tokenizer):
    row = tokenizer.encode(["The Cat unhappily"])[0]
    assert row.ids[0] == tokenizer.cls_id and row.ids[-1] == tokenizer.sep_id
    assert row.special_mask == [1] + [0] * (len(row.ids) - 2) + [1]
    assert row.segment_ids == [0] * len(row.ids)
    assert [("The Cat unhappily"[a:b]) for a, b in row.offsets[1:3]] == ["The", "Cat"]
    assert row.word_ids[:3] == [None, 0, 1] and set(row.word_ids[3:-1]) == {2}
    assert not row.truncated and row.row == 0


def test_encode_pairs(tokenizer):
    row = tokenizer.encode(["the cat"], ["the dog sat"])[0]
    separators = [i for i, token in enumerate(row.ids) if token == tokenizer.sep_id]
    assert len(separators) == 2
    assert row.segment_ids == [0] * (separators[0] + 1) + [1] * (separators[1] - separators[0])


@pytest.mark.parametrize(
    ("truncation", "kept"),
    [("longest_first", ("the cat the", "dog dog dog")), ("only_first", ("the", "dog dog dog dog dog"))],
)
def test_truncation_strategies(tokenizer, truncation, kept):
    row = tokenizer.encode(["the cat the cat the"], ["dog dog dog dog dog"], max_length=9, truncation=truncation)[0]
    ids = tokenizer.encode([kept[0]], [kept[1]])[0].ids
    assert row.ids == ids and row.truncated


def test_only_second_cuts_the_second(tokenizer):
    row = tokenizer.encode(["the cat the cat the"], ["dog dog dog"], max_length=9, truncation="only_second")[0]
    assert row.ids == tokenizer.encode(["the cat the cat the"], ["dog"])[0].ids


def test_stride_gives_overlapping_windows(tokenizer):
    windows = tokenizer.encode(["the cat the dog the", "cat"], max_length=5, stride=1)
    assert [window.row for window in windows] == [0, 0, 1]
    assert [tokenizer.decode(window.ids) for window in windows] == ["the cat the", "the dog the", "cat"]


def test_special_tokens_off(tokenizer):
    assert tokenizer.encode(["the"], special_tokens=False)[0].ids == [tokenizer.token_to_id("the")]


def test_encode_leaves_no_state_behind(tokenizer):
    before = tokenizer.to_json()
    tokenizer.encode(["the cat the cat"], max_length=4)
    assert tokenizer.to_json() == before
    assert len(tokenizer.encode(["the cat the cat"])[0].ids) == 6
    assert tokenizer.encode([]) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": "the cat"}, "received one str"),
        ({"texts": ["the", None]}, "received NoneType at row 1"),
        ({"texts": ["the"], "pairs": ["a", "b"]}, "1 texts and 2 pairs"),
        ({"texts": ["the"], "pairs": "a"}, "for `pairs`, received one str"),
        ({"texts": ["the"], "max_length": 2}, "leaves no room for text beside 2 special tokens"),
        ({"texts": ["the"], "pairs": ["the"], "max_length": 3}, "beside 3 special tokens"),
        ({"texts": ["the"], "truncation": "left"}, "Unknown truncation 'left'"),
        ({"texts": ["the"], "max_length": 8, "truncation": "only_second"}, "needs `pairs`"),
        ({"texts": ["the"], "max_length": 8, "stride": 6}, "expected 0 <= stride < 6"),
        ({"texts": ["the"], "stride": 2}, "needs a max_length"),
        ({"texts": ["a", "the cat sat"], "max_length": 4, "truncation": "error"}, "Row 1 has 5 tokens"),
        ({"texts": ["a"], "pairs": ["the " * 9], "max_length": 6, "truncation": "only_first"}, "Cannot cut every row"),
    ],
)
def test_encode_refuses(tokenizer, arguments, message):
    if "the cat sat" in arguments["texts"]:
        tokenizer = Tokenizer.train(["a the cat sat"] * 9, vocabulary_size=40)
    with pytest.raises(ValueError, match=message):
        tokenizer.encode(**arguments)


def test_a_pair_with_the_first_tokens_of_its_first_text(tokenizer):
    (row,) = tokenizer.encode(["the cat sat"], ["the dog"])
    (expected,) = tokenizer.encode(["the"], ["the dog"])
    assert row.with_first(1).ids == expected.ids and row.with_first(1).segment_ids == expected.segment_ids
    assert row.with_first(1).offsets == expected.offsets and row.with_first(1).word_ids == expected.word_ids
    assert row.with_first(4).ids == row.with_first(9).ids == row.ids


@pytest.mark.parametrize("side", ["left", "right"])
def test_windows_without_a_post_processor_know_their_context(side):
    """The library says so of the first window only: answers in further windows were no answers in `fit`."""
    words = ["who", "the", "cat", "dog", "sat"]
    library = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, "the"))
    library.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    library.enable_truncation(4, direction=side)
    windows = Tokenizer(library).encode(["who"], ["the cat sat the dog"], 4, "only_second", stride=1)
    assert [window.sequence_ids for window in windows] == [[0, 1, 1, 1]] * 2
