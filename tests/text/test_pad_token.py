"""A padding token for programs that need one."""

from __future__ import annotations

import json

import pytest
import tiny

from keras_transformers.text.pad_token import with_pad_token
from keras_transformers.text.tokenizer import Tokenizer


@pytest.mark.parametrize("kept", [None, {"eos_token": "<|endoftext|>", "clean_up": False}])
def test_a_special_token_is_named_beside_the_others(tmp_path, kept):
    tokenizer = tiny.byte_tokenizer()
    if kept:
        tokenizer.save(tmp_path)
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(kept))
        tokenizer = Tokenizer.from_folder(tmp_path)
    padded = with_pad_token(tokenizer, [None, 5, tokenizer.eos_id])  # 5 is a letter
    padded.save(tmp_path)
    written = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert written["pad_token"] == written["eos_token"] == "<|endoftext|>"
    assert (kept or {}).items() <= written.items()
    again = Tokenizer.from_folder(tmp_path)
    assert again.pad_id == again.eos_id
    texts, pairs = ["a fine film", ""], ["it rained", "é"]
    assert [row.ids for row in again.encode(texts, pairs)] == [row.ids for row in tokenizer.encode(texts, pairs)]
    assert with_pad_token(again, []) is again


def test_what_has_padding_or_no_special_token_stays():
    for tokenizer in (tiny.tokenizer(), Tokenizer.train(["abc"], model="character")):
        assert with_pad_token(tokenizer, [5]) is tokenizer
