"""Ids by a table: the library's, for any text; and no table for a tokenizer of another kind."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from keras_transformers.text.id_table import IdTable, encoded_ids
from keras_transformers.text.tokenizer import Tokenizer
from zoo.scratch.new_vocabulary import learn_vocabulary

TEXTS = [
    "", "ROMEO:\r\nBut, soft!\r", "  two  spaces \t\v\f\u00a0\u2028\u3000", "a\0b\x7f\x80", "naïve Straße İı ﬁ e\u0301",
    "東京 한국 हिन्दी", "👩‍👩‍👧 🇩🇪 \U0010ffff\ufffd\ufeff", "a <|endoftext|> b<|endoftext|>", "<|endof",
    "</s><pad><unk>[MASK]",
    "<extra_id_0> <extra_id_99>", "\r\n\r\n", "'s don't 12345", "x" * 5000, "\u200d\u0301",
]  # fmt: skip
ALPHABET = [*"ab 9'\r\n\0<|>", "<|endoftext|>", "</s>", "é", "e\u0301", "中", "👩‍👧", "\ud7ff", "\U0010ffff", "\u2028"]


def texts_of(seed: int) -> list[str]:
    chosen = random.Random(seed)
    drawn = ["".join(chosen.choices(ALPHABET, k=chosen.randrange(60))) for _ in range(200)]
    letters = ["".join(chr(chosen.choice([*range(0xD800), *range(0xE000, 0x110000)])) for _ in range(40))]
    return TEXTS + drawn + letters


@pytest.mark.integration
@pytest.mark.parametrize("model", ["gpt2", "bert", "t5"])
@pytest.mark.parametrize("kind", ["bytes", "character"])
def test_the_ids_are_those_of_the_library(kind, model):
    texts = texts_of(1)
    tokenizer = learn_vocabulary([text for text in TEXTS if "中" not in text], kind, None, model)
    table = IdTable.of(tokenizer)
    rows = list(encoded_ids(tokenizer, table, texts))
    expected = tokenizer._library.encode_batch(texts, add_special_tokens=False)
    for text, (ids, row), true in zip(texts, rows, expected, strict=True):
        assert ids.tolist() == true.ids, text
        assert row is None or row.ids == true.ids
    by_table = [row is None for _, row in rows]
    assert sum(by_table) > 20 and not all(by_table)  # texts with added tokens are the library's


def test_added_tokens_are_found_by_the_library():
    tokenizer = Tokenizer.train([], model="bytes").with_tokens(["metformin", "€"])
    table = IdTable.of(tokenizer)
    texts = ["a metformin", "3 €", "met form", "é"]
    assert [row is None for row in table.look_up(texts)] == [True, True, False, False]
    rows = [ids.tolist() for ids, _ in encoded_ids(tokenizer, table, texts)]
    assert rows == [row.ids for row in tokenizer.encode(texts, special_tokens=False)]


def changed(kind: str, part: str, **values) -> Tokenizer:
    pipeline = json.loads(Tokenizer.train(["abc"], model=kind, special_tokens=["<unk>"]).to_json())
    if part == "normalizer":
        pipeline[part] = values
    else:
        pipeline[part] |= values
    return Tokenizer.from_json(json.dumps(pipeline))


@pytest.mark.parametrize(
    "tokenizer",
    [
        lambda: Tokenizer.train(["a fine film"], 280, model="byte_pair"),
        lambda: Tokenizer.train(["a fine film"], 40),
        lambda: Tokenizer.train(["a fine film"], 40, model="unigram"),
        lambda: Tokenizer.train(["a fine film"], model="words"),
        lambda: changed("bytes", "pre_tokenizer", add_prefix_space=True),
        lambda: changed("bytes", "normalizer", type="Lowercase"),
        lambda: changed("bytes", "model", ignore_merges=True),
        lambda: changed("bytes", "model", dropout=0.1),
        lambda: changed("character", "normalizer", type="NFC"),
        lambda: changed("character", "pre_tokenizer", behavior="MergedWithNext"),
        lambda: changed("character", "pre_tokenizer", pattern={"String": " "}),
    ],
)
def test_other_tokenizers_have_no_table(tokenizer):
    assert IdTable.of(tokenizer()) is None


def test_a_byte_that_the_vocabulary_lacks():
    """The library drops it, so that no table of bytes has its ids."""
    pipeline = json.loads(Tokenizer.train([], model="bytes").to_json())
    del pipeline["model"]["vocab"]["a"]
    assert IdTable.of(Tokenizer.from_json(json.dumps(pipeline))) is None


def test_other_ids_of_the_library_are_told(monkeypatch):
    tokenizer = Tokenizer.train([], model="bytes")
    table = IdTable.of(tokenizer)
    monkeypatch.setattr(table, "_ids", np.roll(table._ids, 1))
    with pytest.raises(ValueError, match=r"gives other ids .* single bytes .* Report it"):
        table.look_up(["a"])


def test_a_lone_surrogate_is_the_tokenizers_to_refuse():
    tokenizer = Tokenizer.train([], model="bytes")
    assert IdTable.of(tokenizer).look_up(["\ud800"]) == [None]
    with pytest.raises(ValueError, match="surrogate"):
        list(encoded_ids(tokenizer, IdTable.of(tokenizer), ["\ud800"]))
