"""Metaspace "first" behind what drops or adds the front of a text, and other replacements, as the library has them."""

from __future__ import annotations

import random

import pytest
import tensorflow as tf
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Library

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.sentencepiece.charsmap import compile_rules

LETTERS = "abcx 1é▁!\u0301\u00ad\x07\u00a0\u200be"
FIRST = pre_tokenizers.Metaspace(prepend_scheme="first")
RULES = normalizers.Precompiled(compile_rules({"a": "", "é": "", "x": "bc", "1": " "}))
NORMALIZERS = {
    "none": None,
    "Strip": normalizers.Strip(),
    "Nmt, Strip": normalizers.Sequence([normalizers.Nmt(), normalizers.Strip()]),
    "Prepend, Strip": normalizers.Sequence([normalizers.Prepend(" x"), normalizers.Strip()]),
    "Replace": normalizers.Replace("a", ""),
    "Replace ends": normalizers.Replace(Regex(r"\A +| +\z"), ""),
    "Replace string": normalizers.Replace("ab", "x"),
    "Replace string, Strip": normalizers.Sequence([normalizers.Replace("a ", " x"), normalizers.Strip()]),
    "Replace white space": normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), "b"),
    "BertNormalizer": normalizers.BertNormalizer(),
    "NFKC": normalizers.NFKC(),
    "rules": RULES,
    "rules, Strip": normalizers.Sequence([RULES, normalizers.Strip()]),
    "Replace, rules": normalizers.Sequence([normalizers.Replace("b", ""), RULES]),
}
SPLITTERS = {
    "first": FIRST,
    "WhitespaceSplit": pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), FIRST]),
    "Digits": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), FIRST]),
    "Removed": pre_tokenizers.Sequence([pre_tokenizers.Split("ab", "removed"), FIRST]),
    "Punctuation": pre_tokenizers.Sequence([pre_tokenizers.Punctuation(), FIRST]),
    "whole": pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
}


def letters_of(normalizer, splitter) -> Library:
    """Every letter is a token; <m> is found in the text as typed, <n> in the normalised one."""
    vocabulary = {token: i for i, token in enumerate(["<unk>", "<m>", "<n>", *LETTERS])}
    library = Library(models.BPE(vocabulary, [], unk_token="<unk>"))
    if normalizer is not None:
        library.normalizer = normalizer
    library.pre_tokenizer, library.decoder = splitter, decoders.Metaspace()
    library.add_special_tokens(["<m>"])
    library.add_tokens([AddedToken("<n>", normalized=True)])
    return library


def different(library: Library, texts: list[str]) -> list:
    ids = compile_text(library.to_str(), pad_id=0).tokenize(tf.constant(texts)).to_list()
    expected = [row.ids for row in library.encode_batch(texts, add_special_tokens=False)]
    return [(text, a, b) for text, a, b in zip(texts, ids, expected, strict=True) if a != b]


@pytest.mark.integration
@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_metaspace_first(normalizer, splitter):
    chance = random.Random(f"{normalizer}, {splitter}")
    texts = ["".join(chance.choices([*LETTERS, "<m>", "<n>"], k=chance.randrange(7))) for _ in range(300)]
    assert different(letters_of(NORMALIZERS[normalizer], SPLITTERS[splitter]), texts) == []


@pytest.mark.parametrize("length", [31, 32, 33, 100])
def test_replace_of_a_long_content(length):
    content = ("abc1" * length)[:length]
    assert different(letters_of(normalizers.Replace("x", content), FIRST), ["x", "a x xb", "éx!", "xx"]) == []
