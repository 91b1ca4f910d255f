"""Tokenizers whose tokens cover several words: split at spaces first, and all others left alone."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer as Library
from tokenizers import models, normalizers, pre_tokenizers
from word_tokenizers import CORPUS, KINDS, word_tokenizer

from keras_transformers.text.space_splitting import split_at_spaces
from keras_transformers.text.tokenizer import Tokenizer

WHOLE = {"gemma", "mmbert", "metaspace_whole", "llama", "plain"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_token_covers_several_words(kind):
    tokenizer = word_tokenizer(kind)
    split = split_at_spaces(tokenizer)
    assert (split is not tokenizer) == (kind in WHOLE)
    for text, row in zip(CORPUS, split.encode(CORPUS), strict=True):
        assert not [1 for start, end in row.offsets if " " in text[start:end].strip()]


def gemma(*tokens: str) -> Tokenizer:
    """With the tokens that SentencePiece learns: spaces stand first, or alone in a row."""
    vocabulary = {token: i for i, token in enumerate(["<unk>", "▁", "a", "b", "▁▁", "▁a", *tokens])}
    merges = [("▁", "▁"), ("▁", "a"), *((token[:-1], token[-1]) for token in tokens)]
    library = Library(models.BPE(vocabulary, merges, unk_token="<unk>"))
    library.normalizer = normalizers.Replace(" ", "▁")
    library.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    return Tokenizer(library)


def test_tokenizers_of_sentencepiece_keep_their_ids():
    tokenizer = gemma()
    assert split_at_spaces(tokenizer) is tokenizer
    assert split_at_spaces(gemma("a▁")).encode(["a b  a"])[0].encoding.tokens == ["a", "▁", "b", "▁", "▁a"]
