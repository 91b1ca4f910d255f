"""Training of a vocabulary for any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tokenizers

from keras_transformers.text.vocabularies import (
    byte_pair_vocabulary,
    character_vocabulary,
    unigram_vocabulary,
    word_vocabulary,
    wordpiece_vocabulary,
)
from keras_transformers.text.vocabularies.training_texts import training_texts

MODELS = ("wordpiece", "byte_pair", "character", "unigram", "words", "bytes")
WITH_CASES = ("wordpiece", "unigram")  # models that may lower-case


def train(
    texts: Any, size: int | None, lowercase: bool | None, model: str, special_tokens: Sequence[str] | None
) -> tokenizers.Tokenizer:
    """Implement `Tokenizer.train`."""
    if isinstance(special_tokens, str):
        raise ValueError(f"Expected a list of special tokens, received the str {special_tokens!r}. Pass [token, ...].")
    if model not in MODELS:
        raise ValueError(f"Unknown model {model!r}. Expected one of {list(MODELS)}.")
    if lowercase and model not in WITH_CASES:
        raise ValueError(f"model={model!r} keeps every string as it is: received lowercase=True. Lower-case the texts.")

    texts = training_texts(texts)
    if model == "character":
        return character_vocabulary.train(texts, size, special_tokens or ())
    if model == "words":
        special_tokens = word_vocabulary.SPECIAL_TOKENS if special_tokens is None else special_tokens
        return word_vocabulary.train(texts, size, special_tokens)
    if model == "bytes":
        return byte_pair_vocabulary.of_bytes(
            size, (byte_pair_vocabulary.END,) if special_tokens is None else special_tokens
        )
    if size is None:
        raise ValueError(f"model={model!r} needs a vocabulary_size: the largest number of tokens.")
    if model == "unigram":
        special_tokens = unigram_vocabulary.SPECIAL_TOKENS if special_tokens is None else special_tokens
        return unigram_vocabulary.train(texts, size, bool(lowercase), special_tokens)
    if model == "byte_pair":
        special_tokens = (byte_pair_vocabulary.END,) if special_tokens is None else special_tokens
        return byte_pair_vocabulary.train(texts, size, special_tokens)
    if special_tokens is not None:
        raise ValueError(f'model="wordpiece" has fixed special tokens: received {special_tokens}. Leave them out.')
    return wordpiece_vocabulary.train(texts, size, lowercase is not False)
