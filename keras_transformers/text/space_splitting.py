"""Tokenizers whose tokens never cover several words that spaces part."""

from __future__ import annotations

import re

import tokenizers
from tokenizers import pre_tokenizers

from keras_transformers.text.tokenizer import Tokenizer

TRIED = "a b"


def split_at_spaces(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer that splits texts at spaces first, if tokens of this one cover several words.

    Use it where words get labels. Byte pairs that were learnt without a pre-tokenizer have tokens such as "in▁Paris".
    Other tokenizers are returned as they are, with or without a pre-tokenizer: their ids would be the same.

    Args:
        tokenizer: The tokenizer.

    Example:

    >>> from tokenizers import models
    >>> vocabulary = {"a": 0, " ": 1, "b": 2, "a ": 3, "a b": 4}
    >>> library = tokenizers.Tokenizer(models.BPE(vocabulary, [("a", " "), ("a ", "b")]))
    >>> [len(one.encode(["a b"])[0].ids) for one in (Tokenizer(library), split_at_spaces(Tokenizer(library)))]
    [1, 3]
    """
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    normalized = library.normalizer.normalize_str(TRIED) if library.normalizer else TRIED
    found = re.search("a(.+)b", normalized)
    splitter = library.pre_tokenizer
    pieces = splitter.pre_tokenize_str(normalized) if splitter else [(normalized, (0, len(normalized)))]
    inner = re.search("a(.+)b", pieces[0][0]) if pieces else None
    if found is None or inner is None or not _has_tokens_over(library, inner[1]):
        return tokenizer
    first = pre_tokenizers.Split(found[1], "merged_with_next")
    library.pre_tokenizer = pre_tokenizers.Sequence([first, splitter]) if splitter else first
    return tokenizer.with_library(library)


def _has_tokens_over(library: tokenizers.Tokenizer, space: str) -> bool:
    """Return whether a token has a space after another character."""
    space = re.escape(space)
    over = re.compile(f"(?:{space})*(?!{space}).+?{space}", re.DOTALL)  # spaces alone may be a token
    return any(over.match(token) for token in library.get_vocab(with_added_tokens=False))
