"""A padding token for programs that pad texts themselves: the tokenizers of language models often name none."""

from __future__ import annotations

from collections.abc import Iterable

from keras_transformers.text.tokenizer import Tokenizer


def with_pad_token(tokenizer: Tokenizer, candidates: Iterable[int | None]) -> Tokenizer:
    """Name a special token as padding, where the tokenizer names none: its folder then says so.

    For a folder of sentence-transformers, which pads the texts of a batch. Padding is hidden from the model, so that
    any token will do; a special one, as the text of a padding token is no text any more.

    Args:
        tokenizer: A tokenizer, which is not changed.
        candidates: Ids in order of preference; those that are no special tokens are passed over.

    Returns:
        A new `Tokenizer` with the same ids; the given one, if it has padding, or no special token.

    Example:

    >>> tokenizer = Tokenizer.train(["a fine film"], 280, model="byte_pair")
    >>> padded = with_pad_token(tokenizer, [None, tokenizer.eos_id])
    >>> padded.id_to_token(padded.pad_id)
    '<|endoftext|>'
    """
    special = tokenizer.special_ids
    found = [number for number in (*candidates, *special) if number in special]
    if not found or "pad_token" in tokenizer.named_roles():
        return tokenizer
    return tokenizer.with_role("pad_token", tokenizer.id_to_token(found[0]))
