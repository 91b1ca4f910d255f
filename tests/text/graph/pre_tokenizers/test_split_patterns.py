"""Patterns as classes and neighbours cut text where the library's regular expressions do."""

from __future__ import annotations

import random

import pytest
import tensorflow as tf
from tokenizers import Regex, pre_tokenizers

from keras_transformers.text.graph.pre_tokenizers.split_patterns import PATTERNS, WordPattern
from keras_transformers.text.graph.pre_tokenizers.split_words import words
from keras_transformers.text.graph.streams.code_points import piece_starts
from keras_transformers.text.graph.streams.probe import SCALARS

PARTS = [
    "'",
    "''",
    "s",
    "t",
    "re",
    "ll",
    "ve",
    "m",
    "d",
    "S",
    "LL",
    "Re",
    "ſ",
    "x",
    "é",
    "中",
    "1",
    "23",
    "4567",
    "²",
    "Ⅷ",
]
PARTS += [
    " ",
    "  ",
    "   ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\u00a0",
    "\u3000",
    "\u0085",
    "!",
    "...",
    "_",
    "😀",
    "\u0301",
    "\u0903",
    "\x00",
]


def cut(pattern: str, texts: list[str]) -> list[list[str]]:
    points = tf.strings.unicode_decode(tf.constant(texts), "UTF-8")
    split = words(*WordPattern(**PATTERNS[pattern])(points, piece_starts(points)))
    return [[word.decode() for word in row] for row in tf.strings.unicode_encode(split, "UTF-8").to_list()]


def expected(pattern: str, texts: list[str]) -> list[list[str]]:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return [[word for word, _ in split.pre_tokenize_str(text)] for text in texts]


@pytest.mark.parametrize("pattern", PATTERNS, ids=["gpt2", "tiktoken", "qwen2", "qwen3.5"])
def test_random_text(pattern):
    chance = random.Random(5)
    texts = ["".join(chance.choices(PARTS, k=chance.randrange(16))) for _ in range(4_000)]
    assert cut(pattern, texts) == expected(pattern, texts)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS, ids=["gpt2", "tiktoken", "qwen2", "qwen3.5"])
def test_every_code_point(pattern):
    """A hundred in a text: short texts cost time."""
    for context in ("a{}b\n", " {} \n", "'{}\n", "1{}\n", "!{}a\n"):
        parts = [context.format(chr(point)) for point in SCALARS]
        texts = ["".join(parts[begin : begin + 100]) for begin in range(0, len(parts), 100)]
        assert cut(pattern, texts) == expected(pattern, texts)


@pytest.mark.parametrize("pattern", PATTERNS, ids=["gpt2", "tiktoken", "qwen2", "qwen3.5"])
def test_every_space_at_the_edge_of_a_text(pattern):
    spaces = [chr(point) for point in SCALARS if chr(point).isspace()]
    texts = [context.format(space) for context in ("a{}b", " {} ", "'{}", "{}a", "!{}") for space in spaces]
    assert cut(pattern, texts) == expected(pattern, texts)


def test_the_pattern_of_gpt2_is_that_of_the_library():
    text = "I'll say 'tis 1 2\t\t3  fine,\n\nisn't it?  "
    library = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    assert [text[begin:end] for _, (begin, end) in library] == cut(next(iter(PATTERNS)), [text])[0]
