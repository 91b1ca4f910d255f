"""The letters of byte-pair encoding: ids by place in the word, as the library without merges."""

from __future__ import annotations

import json
from itertools import product

import pytest
import tensorflow as tf
from tokenizers import Tokenizer as Library
from tokenizers import models

from keras_transformers.text.graph.models.letters import Letters

WORDS = ["a", "ab", "abxa", "b", "xx"]
AFFIXES = {
    "plain": {},
    "suffix": {"end_of_word_suffix": "</w>"},
    "prefix": {"continuing_subword_prefix": "##"},
    "both": {"end_of_word_suffix": "</w>", "continuing_subword_prefix": "##"},
}


def vocabulary_of(continuing_subword_prefix: str = "", end_of_word_suffix: str = "") -> dict[str, int]:
    places = product("ab", ("", continuing_subword_prefix), ("", end_of_word_suffix))
    tokens = dict.fromkeys(prefix + letter + suffix for letter, prefix, suffix in places)
    return {token: i for i, token in enumerate(["?", *tokens])}


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("affixes", AFFIXES)
def test_ids_are_those_of_the_library(affixes, fuse):
    model = models.BPE(vocabulary_of(**AFFIXES[affixes]), [], unk_token="?", fuse_unk=fuse, **AFFIXES[affixes])
    letters = Letters(json.loads(Library(model).to_str())["model"], ord)
    rows = letters(tf.strings.unicode_decode(WORDS, "UTF-8")).to_list()
    assert rows == [[token.id for token in model.tokenize(word)] for word in WORDS]


def config(**changes) -> dict:
    usual = {"vocab": {"a": 0}, "unk_token": None, "fuse_unk": False, "byte_fallback": False}
    return {**usual, "continuing_subword_prefix": None, "end_of_word_suffix": None, **changes}


def test_letters_may_be_other_numbers():
    """Bytes, where the pre-tokeniser spells them as letters; what stands for nothing is no letter."""
    letters = Letters(config(vocab={"a": 4, "b": 5, "c": 6}), {"a": 0, "b": 255}.get)
    assert letters(tf.ragged.constant([[0, 255, 99]], tf.int32)).to_list() == [[4, 5]]


def test_an_unknown_token_that_is_none():
    with pytest.raises(ValueError, match="BPE: unk_token '<unk>' is not in the vocabulary"):
        Letters(config(unk_token="<unk>"), ord)


@pytest.mark.parametrize(
    ("count", "changes", "code"),
    [(256, {"end_of_word_suffix": "</w>"}, ord), (255, {}, ord), (256, {}, {"a": 0}.get)],
    ids=["with affixes", "not all bytes", "letters that are bytes already"],
)
def test_bytes_that_cannot_be_compiled(count, changes, code):
    vocabulary = {f"<0x{byte:02X}>": byte for byte in range(count)}
    with pytest.raises(ValueError, match="BPE with byte_fallback"):
        Letters(config(vocab=vocabulary, byte_fallback=True, **changes), code)
