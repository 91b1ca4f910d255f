"""A vocabulary of single characters, as in nanoGPT's character-level model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from keras_transformers.text.vocabularies.byte_pair_vocabulary import UNKNOWN


def train(texts: Iterable[str], size: int | None, special_tokens: Sequence[str]) -> tokenizers.Tokenizer:
    """Give ids to the special tokens, then to every character of the corpus in order of code point."""
    characters = sorted(set().union(*texts))
    if not characters:
        raise ValueError("The corpus holds no character. Expected an iterable of non-empty str.")
    tokens = [*special_tokens, *(character for character in characters if character not in special_tokens)]
    if size is not None and len(tokens) > size:
        raise ValueError(
            f"vocabulary_size={size} cannot hold the {len(tokens)} special tokens and characters of this corpus. "
            f"Ask for {len(tokens)}, or leave vocabulary_size out."
        )
    return build({token: i for i, token in enumerate(tokens)}, special_tokens)


def build(vocabulary: dict[str, int], special_tokens: Sequence[str]) -> tokenizers.Tokenizer:
    """Build a tokenizer of characters, whitespace included. An unknown character is <unk>, or an error without that
    token.
    """
    tokenizer = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(list(special_tokens))
    return tokenizer
