"""Comparison of tokenizers: by tokens and by the parts that split texts."""

from __future__ import annotations

import json

from keras_transformers.text.same_tokens import difference
from keras_transformers.text.tokenizer import Tokenizer

TEXTS = ["the cat sat on the mat", "a day, a day."]


def changed(tokenizer: Tokenizer, **parts) -> Tokenizer:
    return Tokenizer.from_json(json.dumps(json.loads(tokenizer.to_json()) | parts))


def test_tokenizers_of_the_same_content_are_the_same():
    """Whatever puts tokens around texts, or makes texts of ids, as this changes no token of a text that is written."""
    for model in ("byte_pair", "unigram"):
        first, second = (Tokenizer.train(TEXTS, 280, model=model) for _ in range(2))
        assert difference(first, second) == difference(first, changed(second, post_processor=None)) == ""


def test_other_tokens():
    first = Tokenizer.train(TEXTS, 280, model="byte_pair")
    size, longer = first.vocabulary_size, first.with_tokens(["metformin"])
    expected = f"token {size} is missing in the first, 'metformin' in the second; 1 of {size + 1} tokens differ"
    assert difference(first, longer) == expected
    assert difference(longer, first).startswith(f"token {size} is 'metformin' in the first, missing in the second")
    assert "tokens differ" in difference(first, Tokenizer.train(["xyz xyz xyz"], 280, model="byte_pair"))


def test_the_same_tokens_of_other_words():
    first = Tokenizer.train(TEXTS, 280, model="byte_pair")
    model = json.loads(first.to_json())["model"]
    others = {"normalizer": {"type": "Lowercase"}, "model": model | {"merges": model["merges"][::-1]}}
    assert difference(first, changed(first, **others)).endswith("in another way, by normalizer and model")
