"""Patterns that split words at capitals cut text where the library's regular expressions do."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import Regex, pre_tokenizers

from keras_transformers.text.graph.pre_tokenizers.cased_patterns import CASED_PATTERNS, CasedPattern
from keras_transformers.text.graph.pre_tokenizers.split_words import words
from keras_transformers.text.graph.pre_tokenizers.splits import split_by_pattern
from keras_transformers.text.graph.streams.code_points import TOKEN, piece_starts
from keras_transformers.text.graph.streams.probe import SCALARS

# The pattern of o200k_base, as tokenizer.json of Phi-4-mini has it.
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
IDS = ["o200k", "o200k without contractions", "tekken"]
PARTS = ["'", "''", "s", "t", "re", "ll", "ve", "m", "d", "S", "T", "LL", "Re", "vE", "M", "D", "ſ", "’", "x", "é", "É"]
PARTS += ["ǅ", "ʰ", "中", "ا", "A", "B", "Σ", "ß", "ﬁ", "İ", "ı", "\u212a", "camelCase", "HTTPServer", "ＡＢ", "𝒜"]
PARTS += ["1", "23", "4567", "²", "Ⅷ", " ", "  ", "   ", "\n", "\r\n", "\r", "\t", "\u00a0", "\u3000", "\u0085"]
PARTS += ["\u2028", "!", "...", "_", "/", "//", "😀", "\u0301", "\u0903", "\u20dd", "\x00"]


def spans(pattern: str, texts: list[str]) -> list[list[tuple[int, int]]]:
    points = tf.strings.unicode_decode(tf.constant(texts, tf.string), "UTF-8")
    starts = CasedPattern(**CASED_PATTERNS[pattern])(points, piece_starts(points))[1]
    begins = [np.flatnonzero(row) for row in points.with_values(starts).to_list()]
    return [[*pairwise([*row.tolist(), len(text)])] for row, text in zip(begins, texts, strict=True)]


def differing(pattern: str, texts: list[str]) -> list:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    expected = [[span for _, span in split.pre_tokenize_str(text)] for text in texts]
    return [row for row in zip(texts, spans(pattern, texts), expected, strict=True) if row[1] != row[2]]


def random_texts(chance: random.Random, count: int, share: float = 1.0, points: list[int] = SCALARS) -> list[str]:
    """Return texts of parts, a share of them, and of any code points."""

    def part() -> str:
        return chance.choice(PARTS) if chance.random() < share else chr(chance.choice(points))

    return ["".join(part() for _ in range(chance.randrange(20))) for _ in range(count)]


def test_the_pattern_is_that_of_the_files():
    assert next(iter(CASED_PATTERNS)) == O200K


@pytest.mark.parametrize("pattern", CASED_PATTERNS, ids=IDS)
def test_random_text(pattern):
    assert not differing(pattern, random_texts(random.Random(5), 500))


@pytest.mark.integration
@pytest.mark.parametrize("pattern", CASED_PATTERNS, ids=IDS)
def test_more_random_text(pattern):
    chance = random.Random(7)
    below = [point for point in SCALARS if point < 0x3000]  # scripts with cases and marks
    for _ in range(10):
        for share, points in ((1.0, SCALARS), (0.6, below), (0.4, SCALARS)):
            assert not differing(pattern, random_texts(chance, 4_000, share, points))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", CASED_PATTERNS, ids=IDS)
def test_every_code_point(pattern):
    """A hundred in a text: short texts cost time."""
    for context in ("a{}b\n", " {} \n", "'{}\n", "A{}A'{}\n", "1{}\n", "!{}a\n", "x'{}l/"):
        parts = [context.format(*[chr(point)] * 2) for point in SCALARS]
        assert not differing(pattern, ["".join(parts[begin : begin + 100]) for begin in range(0, len(parts), 100)])


def test_words_are_split_at_capitals_and_hold_contractions():
    text = "HTTPServer's camelCase'LL 1234 a/\n/b\n  \n x"
    pieces = ["HTTPServer's", " camel", "Case'LL", " ", "123", "4", " a", "/\n/", "b", "\n  \n", " x"]
    assert [text[begin:end] for begin, end in spans(O200K, [text])[0]] == pieces


def test_a_long_text_and_no_text():
    texts = ["", "aB" * 500 + " " * 500 + "x" * 500, "A\u0301" * 300]
    assert not differing(O200K, texts)
    assert spans(O200K, []) == []


def test_added_tokens_are_pieces():
    """A space before, letters after: neither joins a token, and no contraction reaches over one."""
    points = tf.ragged.constant([[65, TOKEN, 98, 39, TOKEN + 1, 115], [TOKEN, TOKEN], [], [32, 32, TOKEN]], tf.int32)
    split = words(*CasedPattern(**CASED_PATTERNS[O200K])(points, piece_starts(points)))
    assert split.to_list() == [[[65], [TOKEN], [98], [39], [TOKEN + 1], [115]], [[TOKEN]] * 2, [], [[32, 32], [TOKEN]]]


@pytest.mark.parametrize(
    ("pattern", "behavior"),
    [
        (O200K.replace("{1,3}", "{1,4}"), "isolated"),
        (O200K.replace("/]*", "]*"), "isolated"),
        (O200K, "removed"),
        (O200K, "contiguous"),
    ],
)
def test_a_pattern_that_is_nearly_one_of_these_is_refused_by_name(pattern, behavior):
    config = json.loads(pre_tokenizers.Split(Regex(pattern), behavior).__getstate__())
    with pytest.raises(ValueError, match=r"pre_tokenizer .Split by Regex"):
        split_by_pattern(config)
