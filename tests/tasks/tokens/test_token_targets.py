"""From labels of words, or spans of characters, to a target for each token."""

from __future__ import annotations

import numpy as np
import pytest
from word_tokenizers import word_tokenizer

from keras_transformers.data.sources.rows import Ragged, Rows
from keras_transformers.tasks.tokens.label_schemes import TokenLabels, bio_labels
from keras_transformers.tasks.tokens.token_targets import (
    TokenTargets,
    span_targets,
    target_classes,
    units_of,
    word_targets,
)
from keras_transformers.text.tokenizer import Tokenizer

BIO = TokenLabels(("O", "B-x", "I-x"))
BIOES = TokenLabels(tuple(bio_labels(["x"], "bioes")))


VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] the u . s walk ##ing ##s on now army is"


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text(VOCABULARY.replace(" ", "\n"))
    return Tokenizer.from_vocab(path)


def pieces(bert, text, **options):
    encoded = bert.encode([text], **options)
    return encoded[0], *units_of(encoded, [text])


def test_words_of_the_tokenizer(bert):
    encoded, found = pieces(bert, "the U.S. walking")
    tokens = encoded.encoding.tokens
    assert [(unit.start, unit.end) for unit in found] == [(0, 3), (4, 5), (5, 6), (6, 7), (7, 8), (9, 16)]
    assert [tokens[unit.position] for unit in found] == ["the", "u", ".", "s", ".", "walk"]
    assert tokens[-2:] == ["##ing", "[SEP]"]


def test_a_word_is_told_once_and_its_further_parts_besides(bert):
    """ "U.S." is four words of the tokenizer; "walking" one, of two pieces."""
    words = ["the", "U.S.", "walking"]
    encoded, units = pieces(bert, " ".join(words))
    numbers, lost, _ = word_targets(encoded, units, words, [0, 1, 2], BIO)
    assert (numbers, lost) == ([-1, 0, 1, -4, -4, -4, 2, -1, -1], [])
    assert target_classes(np.array(numbers)).tolist() == [-1, 0, 1, 2, 2, 2, 2, -1, -1]
    numbers, *_ = word_targets(encoded, units, words, [0, 4, 4], BIOES)
    assert target_classes(np.array(numbers)).tolist() == [-1, 0, 1, 2, 2, 3, 4, -1, -1]


def test_words_with_spaces_and_odd_characters(bert):
    """A word may have a space inside; "\\u200d" alone gives no token; a mark joins the letter before."""
    words = ["on on", "\u200d", "n\u0301ow", "."]
    encoded, units = pieces(bert, " ".join(words))
    numbers, lost, _ = word_targets(encoded, units, words, [1, 1, 0, 0], BIO)
    real = [number for number in numbers if number != -1]
    assert real == [1, -4, 0, 0] and lost == [1]


def test_special_tokens_that_are_typed(bert):
    words = ["[SEP]", "on"]
    assert word_targets(*pieces(bert, "[SEP] on"), words, [1, 2], BIO).numbers == [-1, 1, 2, -1]


def test_words_that_are_cut_off_are_not_lost(bert):
    words = ["on", "on", "\u200d", "on", "\u200d"]
    placed = pieces(bert, " ".join(words), max_length=4)
    assert word_targets(*placed, words, [0, 1, 1, 1, 1], BIO) == ([-1, 0, 1, -1], [], 3)
    assert word_targets(*pieces(bert, ""), [], [], BIO) == ([-1, -1], [], 0)


def test_spans(bert):
    text = "the U.S. army is on."
    encoded, units = pieces(bert, text)
    numbers, unclear, _ = span_targets(encoded, units, [(4, 13, "x"), (17, 19, "x")], BIO)
    words = [numbers[unit.position] for unit in units]
    assert words == [0, 1, 2, 2, 2, 2, 0, 1, 0] and unclear == []
    numbers, *_ = span_targets(encoded, units, [(4, 13, "x"), (17, 19, "x")], BIOES)
    assert [numbers[unit.position] for unit in units] == [0, 1, 2, 2, 2, 3, 0, 4, 0]


def test_spans_that_end_inside_a_word(bert):
    text = "the walks on"
    numbers, unclear, _ = span_targets(*pieces(bert, text), [(4, 8, "x")], BIO)  # "walk"
    assert [number for number in numbers if number >= 0] == [0, 1, 0] and unclear == [0]
    assert span_targets(*pieces(bert, text), [(3, 10, "x")], BIO).unclear == []  # with spaces around


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(2, 4, "x")], r"the span \(2, 4, 'x'\) covers no token"),  # spaces
        ([(4, 6, "x"), (6, 9, "x")], r"\(6, 9, 'x'\) covers no token, or only tokens of the span before it"),
        ([(0, 2, "y")], "unknown type of entity 'y'"),
    ],
)
def test_spans_that_are_refused(bert, spans, message):
    with pytest.raises(ValueError, match=message):
        span_targets(*pieces(bert, "on  walks"), spans, BIO)


def test_spans_that_are_cut_off(bert):
    placed = pieces(bert, "on on on on", max_length=4)
    assert span_targets(*placed, [(3, 8, "x"), (9, 11, "x")], BIO) == ([-1, 0, 1, -1], [], 1)


ROWS = Rows(Ragged.of([[2, 7, 8, 3], [2, 3]]), labels=Ragged.of([[-1, 0, -3, -1], [-1, -1]]))


def test_the_objective_pads():
    inputs, targets = TokenTargets(2)(ROWS, width=5)
    assert targets.tolist() == [[-1, 0, -3, -1, -1], [-1] * 5] and targets.dtype == np.int32
    assert inputs.keys() == {"token_ids", "padding_mask"}
    assert len(TokenTargets(2)(Rows(ROWS.token_ids), width=5)) == 1


def test_the_objective_checks():
    TokenTargets(2).check(ROWS)
    TokenTargets(2).check(Rows(ROWS.token_ids))
    with pytest.raises(ValueError, match="class 1: expected a class from 0 to 0"):
        TokenTargets(1).check(ROWS)
    with pytest.raises(ValueError, match="without a target for each token"):
        TokenTargets(2).check(Rows.of([[2, 3]], labels=[0]))


def test_letters_behind_a_lone_space_are_learnt_too():
    """Without a space before it, the letter is the first token of the same word."""
    tokenizer, words = word_tokenizer("xlmr"), ["京", "Ann"]
    encoded, units = pieces(tokenizer, "京 Ann")
    assert encoded.encoding.tokens[:6] == ["<s>", "▁", "京", "▁", "A", "n"]
    assert word_targets(encoded, units, words, [1, 0], BIO).numbers == [-1, 1, -3, 0, -2, -1, -1, -1]
    assert span_targets(encoded, units, [(0, 1, "x")], BIO).numbers == [-1, 1, -3, 0, -2, -1, -1, -1]
    assert [(unit.start, unit.end) for unit in units] == [(0, 1), (2, 5)]
