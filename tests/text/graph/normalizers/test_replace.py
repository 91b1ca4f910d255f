"""The normaliser Replace in ops: the library's text."""

from __future__ import annotations

import json
import random

import pytest
import tensorflow as tf
from tokenizers import Regex, normalizers

from keras_transformers.text.graph.normalizers.replace import LONGEST, PATTERNS, replace_pattern

LETTERS = [*"'`ab▁é", *"  \n\t\r\u00a0\u3000\x85"]
STRINGS = ["``", "''", "'", "ab", "aba", "▁", "a" * LONGEST]


def texts_of(seed: str) -> list[str]:
    chance = random.Random(seed)
    return [
        "",
        "''' ''''",
        "ababa abababa",
        "a" * 200,
        *("".join(chance.choices(LETTERS, k=chance.randrange(12))) for _ in range(300)),
    ]


def replaced(normalizer: normalizers.Normalizer, texts: list[str]) -> list[str]:
    points = replace_pattern(json.loads(normalizer.__getstate__()))(tf.strings.unicode_decode(texts, "UTF-8"))
    return [text.decode() for text in tf.strings.unicode_encode(points, "UTF-8").numpy()]


@pytest.mark.integration(quick=[" {2,}-", ' {2,}-"', " {2,}-x y", "''-"])
@pytest.mark.parametrize("content", ['"', "", "x y"])
@pytest.mark.parametrize("pattern", [*STRINGS, *map(Regex, PATTERNS)], ids=[*STRINGS, *PATTERNS])
def test_text_equals_the_library(pattern, content):
    library, texts = normalizers.Replace(pattern, content), texts_of(content)
    expected = [library.normalize_str(text) for text in texts]
    assert expected != texts
    assert replaced(library, texts) == expected


@pytest.mark.parametrize(
    "pattern", [Regex("a+"), Regex("''"), "", "a" * (LONGEST + 1)], ids=["a+", "quotes", "empty", "too long"]
)
def test_other_patterns_are_refused_by_name(pattern):
    with pytest.raises(ValueError, match=r"The normalizer .Replace of (Regex|String) .* cannot be compiled"):
        replace_pattern(json.loads(normalizers.Replace(pattern, "").__getstate__()))
