"""The vocabulary of a tokenizer: ids, tokens, and the ids of special tokens by role."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType

import numpy as np
import tokenizers

from keras_transformers.text.pipelines.library import count_ids
from keras_transformers.text.vocabularies import byte_pair_vocabulary, wordpiece_vocabulary
from keras_transformers.text.vocabularies.pieces import token_bytes

# The possible special tokens of each role; the roles have the names of `transformers`.
ROLES = {
    "pad_token": (wordpiece_vocabulary.PAD, "<pad>"),
    "unk_token": (wordpiece_vocabulary.UNK, byte_pair_vocabulary.UNKNOWN),
    "cls_token": (wordpiece_vocabulary.CLS,),
    "sep_token": (wordpiece_vocabulary.SEP,),
    "mask_token": (wordpiece_vocabulary.MASK, "<mask>"),
    "bos_token": ("<s>", "<|begin_of_text|>"),
    "eos_token": ("</s>", "<|end_of_text|>", byte_pair_vocabulary.END),
}
NO_ROLES: Mapping[str, str] = MappingProxyType({})


class Vocabulary:
    """The tokens of a `tokenizers.Tokenizer`, added tokens included.

    The ids by role, such as `pad_id`, raise a `ValueError` if there is no such token.

    Args:
        library: The tokenizer.
        roles: Special tokens by role, such as `{"eos_token": "<|im_end|>"}`. For other roles the first of the usual
            tokens that is in the vocabulary is taken.

    Example:

    >>> vocabulary = Vocabulary(tokenizers.Tokenizer(tokenizers.models.WordLevel({"<pad>": 0, "cat": 1})))
    >>> vocabulary.vocabulary_size, vocabulary.pad_id, vocabulary.token_to_id("cat"), vocabulary.id_to_token(1)
    (2, 0, 1, 'cat')
    """

    def __init__(self, library: tokenizers.Tokenizer, roles: Mapping[str, str] = NO_ROLES):
        self._library, self._roles = library, roles

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._library.model).__name__}, {self.vocabulary_size:,} tokens)"

    @cached_property
    def vocabulary_size(self) -> int:
        """Return the number of rows that an embedding needs: the largest id + 1, added tokens included."""
        return count_ids(self._library)

    def _role(self, name: str) -> int:
        """Return the id of the token with this role: the one in `roles`, else the first of the usual tokens."""
        tokens = [self._roles[name]] if name in self._roles else ROLES[name]
        present = (token for token in tokens if self._library.token_to_id(token) is not None)
        return self.token_to_id(next(present, tokens[0]))

    @property
    def pad_id(self) -> int:
        return self._role("pad_token")

    @property
    def unk_id(self) -> int:
        return self._role("unk_token")

    @property
    def cls_id(self) -> int:
        return self._role("cls_token")

    @property
    def sep_id(self) -> int:
        return self._role("sep_token")

    @property
    def mask_id(self) -> int:
        return self._role("mask_token")

    @property
    def eos_id(self) -> int:
        return self._role("eos_token")

    @cached_property
    def special_ids(self) -> tuple[int, ...]:
        """Ids of all special tokens, ascending."""
        return tuple(sorted(i for i, token in self._library.get_added_tokens_decoder().items() if token.special))

    @cached_property
    def is_continuation(self) -> np.ndarray:
        """(V,) bool: True for the pieces that continue a word ("##ing")."""
        mask = np.zeros(self.vocabulary_size, dtype=bool)
        mask[
            [i for token, i in self._library.get_vocab().items() if token.startswith(wordpiece_vocabulary.CONTINUATION)]
        ] = True
        return mask

    def id_to_token(self, token_id: int) -> str:
        token = self._library.id_to_token(int(token_id)) if token_id >= 0 else None
        if token is None:
            raise ValueError(f"No token has id {token_id}. The vocabulary holds 0 to {self.vocabulary_size - 1}.")
        return token

    def token_to_id(self, token: str) -> int:
        token_id = self._library.token_to_id(token)
        if token_id is None:
            raise ValueError(f"{token!r} is not in the vocabulary of {self.vocabulary_size} tokens.")
        return token_id

    def token_bytes(self, first: bool = False, last: bool = False) -> list[bytes]:
        """Return the bytes of UTF-8 that each id adds to a text, in mid-sentence or at an end of it; b"" if special."""
        return token_bytes(self._library, first, last)
