"""The vocabulary: ids and tokens, roles, pieces that continue a word."""

from __future__ import annotations

import pytest
import tokenizers
from tokenizers import models

from keras_transformers.text.vocabularies.vocabulary import ROLES, Vocabulary

TOKENS = ["</s>", "cat", "##s", "<pad>", "[CLS]"]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    library = tokenizers.Tokenizer(models.WordLevel({token: i for i, token in enumerate(TOKENS)}))
    library.add_special_tokens(["[CLS]", "</s>", "[MASK]"])
    library.add_tokens(["added"])
    return Vocabulary(library)


def test_added_tokens_count(vocabulary):
    assert vocabulary.vocabulary_size == 7
    assert [vocabulary.id_to_token(i) for i in range(7)] == [*TOKENS, "[MASK]", "added"]
    assert [vocabulary.token_to_id(token) for token in (*TOKENS, "added")] == [0, 1, 2, 3, 4, 6]
    assert vocabulary.special_ids == (0, 4, 5)


def test_a_vocabulary_with_gaps_has_room_for_the_largest_id():
    sparse = Vocabulary(tokenizers.Tokenizer(models.WordLevel({"a": 0, "b": 9})))
    assert sparse.vocabulary_size == 10 and sparse.is_continuation.shape == (10,)
    with pytest.raises(ValueError, match="No token has id 5"):
        sparse.id_to_token(5)


def test_the_first_token_of_a_role_that_is_there(vocabulary):
    assert (vocabulary.pad_id, vocabulary.cls_id, vocabulary.mask_id, vocabulary.eos_id) == (3, 4, 5, 0)
    both = Vocabulary(tokenizers.Tokenizer(models.WordLevel({"<pad>": 0, "[PAD]": 1})))
    assert both.pad_id == 1 and ROLES["pad_token"] == ("[PAD]", "<pad>")


def test_a_role_without_a_token_names_the_first(vocabulary):
    with pytest.raises(ValueError, match=r"'\[SEP\]' is not in the vocabulary of 7 tokens"):
        vocabulary.sep_id  # noqa: B018 - a property
    with pytest.raises(ValueError, match=r"'\[UNK\]' is not in the vocabulary"):
        vocabulary.unk_id  # noqa: B018


def test_is_continuation(vocabulary):
    assert vocabulary.is_continuation.dtype == bool
    assert vocabulary.is_continuation.tolist() == [False, False, True, False, False, False, False]


def test_unknown_tokens_and_ids(vocabulary):
    with pytest.raises(ValueError, match="'zebra' is not in the vocabulary"):
        vocabulary.token_to_id("zebra")
    with pytest.raises(ValueError, match="No token has id 7"):
        vocabulary.id_to_token(7)
    with pytest.raises(ValueError, match="No token has id -1"):
        vocabulary.id_to_token(-1)
