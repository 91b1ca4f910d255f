"""A tokenizer that makes texts longer and longer is refused when it is read."""

from __future__ import annotations

import pytest
import tokenizers
from tokenizers import normalizers, pre_tokenizers

from keras_transformers.text.tokenizer import Tokenizer


def test_steps_that_multiply(tmp_path):
    library = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    library.normalizer = normalizers.Sequence([normalizers.Replace("a", "a" * 1000)] * 4)
    library.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ValueError, match=r"steps of the normalizer may make a text 1,000,000,000,000 times as long"):
        Tokenizer.from_folder(tmp_path)


def test_byte_letters_of_byte_letters(tmp_path):
    library = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.ByteLevel()] * 40)
    library.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ValueError, match="steps of the pre_tokenizer"):
        Tokenizer.from_folder(tmp_path)
