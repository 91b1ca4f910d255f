"""Comparison of tokenizers: whether token ids mean the same, and texts get the same ids."""

from __future__ import annotations

import json
from typing import Any
from weakref import WeakKeyDictionary

from keras_transformers.text.tokenizer import Tokenizer

PARTS = ("normalizer", "pre_tokenizer", "model")  # of tokenizer.json: they make the ids; others add, cut or decode
# By pair of tokenizers, as reading a tokenizer.json of 150,000 tokens takes a second.
COMPARED: WeakKeyDictionary[Tokenizer, WeakKeyDictionary[Tokenizer, str]] = WeakKeyDictionary()


def difference(first: Tokenizer, second: Tokenizer) -> str:
    """Return what differs between two tokenizers, in words; "" if texts get the same ids of the same tokens.

    Special tokens around a text, and how ids become text, are not compared.

    Example:

    >>> large, small = (Tokenizer.train(["the cat sat"], size, model="byte_pair") for size in (260, 258))
    >>> difference(large, large), difference(large, small)
    ('', "token 258 is '...' in the first, missing in the second; 2 of 260 tokens differ")
    """
    if first is second:
        return ""
    known = COMPARED.setdefault(first, WeakKeyDictionary())
    if second not in known:
        contents = [json.loads(each.to_json(pretty=False)) for each in (first, second)]
        known[second] = _tokens_that_differ(*map(_tokens, contents)) or _parts_that_differ(*contents)
    return known[second]


def _tokens(content: dict[str, Any]) -> dict[int, str]:
    """Return the tokens of a tokenizer.json by id."""
    vocabulary = content["model"]["vocab"]
    if isinstance(vocabulary, list):  # of tokens with their scores
        vocabulary = {token: index for index, (token, _) in enumerate(vocabulary)}
    return {index: token for token, index in vocabulary.items()} | {
        added["id"]: added["content"] for added in content["added_tokens"]
    }


def _tokens_that_differ(first: dict[int, str], second: dict[int, str]) -> str:
    ids = sorted(first.keys() | second.keys())
    if not (differing := [index for index in ids if first.get(index) != second.get(index)]):
        return ""
    index = differing[0]
    token, other = (repr(tokens[index]) if index in tokens else "missing" for tokens in (first, second))
    return f"token {index} is {token} in the first, {other} in the second; {len(differing)} of {len(ids)} tokens differ"


def _parts_that_differ(first: dict[str, Any], second: dict[str, Any]) -> str:
    names = [name for name in PARTS if first.get(name) != second.get(name)]
    return f"the tokens are the same, but texts are split in another way, by {' and '.join(names)}" if names else ""
