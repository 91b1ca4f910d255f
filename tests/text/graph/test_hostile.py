"""Generated text that aims at every corner of the pipeline, with every setting of the normaliser."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from keras_transformers.text.graph.compile import compile_text
from keras_transformers.text.graph.streams.code_points import shipped
from keras_transformers.text.tokenizer import Tokenizer

COMBINING = shipped()["combining"] > 0
SURVIVORS = np.flatnonzero(COMBINING & (shipped()["mark"] == 0))  # marks that strip_accents leaves: their order counts
ALPHABETS = {
    "any": [*range(0xD800), *range(0xE000, 0x110000)],
    "latin": range(0x250),
    "letters": [ord(letter) for letter in "abcdefghij"],
    "marks": [*np.flatnonzero(COMBINING), *np.repeat(SURVIVORS, 4)],
    "stripped": np.flatnonzero(shipped()["mark"]),
    "control": [0, 1, 9, 10, 13, 27, 0x7F, 0x85, 0xA0, 0xAD, 0x200B, 0x200D, 0x2028, 0x3000, 0xFEFF, 0xFFFD, 0xE000],
    "asian": [*range(0x3400, 0x4000), *range(0xAC00, 0xB000), *range(0xF900, 0xFB00), *range(0x2F800, 0x2FA20)],
    "right_to_left": [*range(0x5D0, 0x5EB), *range(0x627, 0x64B), 0x200E, 0x200F, 0x202E],
    "emoji": [*range(0x1F300, 0x1F650), 0x200D, 0xFE0F, 0x20E3],
    "case": [0x130, 0x131, 0x1E9E, 0x3A3, 0x3C2, 0x212B, 0x2126, 0xFB01, 0x1F82, 0x344, 0x345, 0xDF],
}
GPT2_TYPED = ["<|endoftext|>", "<|endoftext", "|>", "'s", "'LL", "'ve", "'", "''", "don't", "123", "4", "²", "Ⅷ", "'ſ"]
GPT2_TYPED += ["!", "...", "\t", "\n", "\r\n", "\u0085", "\u00a0", "\u3000", " ", "  ", "   ", "the", "👩‍👩‍👧", "\x00"]
TYPED = ["[MASK]", "[SEP]", "[CLS]", "[PAD]", "[UNK]", "[mask]", "[MAS", "K]", "[[", "]", " "]


BYTE_CORPUS = [
    "It's the cat's table, and 'tis 1234 o'clock.\n\n",
    "  Wir können's nicht: naïve Katzen 😀",
    "日本語 テキスト",
]


def hostile_text(chance: random.Random, typed: list[str] = TYPED) -> str:
    def part() -> str:
        if chance.random() < 0.3:
            return chance.choice(typed)
        alphabet = ALPHABETS[chance.choice(list(ALPHABETS))]
        return "".join(chr(chance.choice(alphabet)) for _ in range(chance.randrange(1, 12)))

    return chance.choice(["", " "]).join(part() for _ in range(chance.randrange(8)))


def broken_bytes(chance: random.Random, text: str) -> bytes:
    return bytes(
        chance.randrange(256) if chance.random() < 0.1 else byte for byte in text.encode()[chance.randrange(3) :]
    )


def count_mismatches(tokenizer, mismatches, seed: int | str, rows: int, typed: list[str] = TYPED) -> list:
    chance, graph, found = random.Random(seed), compile_text(tokenizer.to_json(), pad_id=0), []
    for _ in range(rows // 200):
        texts, pairs = ([hostile_text(chance, typed) for _ in range(200)] for _ in range(2))
        found += mismatches(tokenizer, graph, texts, pairs, max_length=chance.randrange(4, 40))
        found += mismatches(tokenizer, graph, [broken_bytes(chance, text) for text in texts])
    return found


@pytest.mark.integration
def test_small_vocabulary(tokenizer, mismatches):
    assert not count_mismatches(tokenizer, mismatches, seed=0, rows=200)


@pytest.mark.integration
def test_bytes(mismatches):
    tokenizer = Tokenizer.train(BYTE_CORPUS, 300, model="byte_pair")
    assert not count_mismatches(tokenizer, mismatches, seed=1, rows=400, typed=GPT2_TYPED)


def test_bytes_come_back():
    tokenizer = Tokenizer.train(BYTE_CORPUS, 300, model="byte_pair", special_tokens=[])
    graph, chance = compile_text(tokenizer.to_json(), pad_id=0), random.Random(4)
    texts = [hostile_text(chance, GPT2_TYPED) for _ in range(400)]
    decode = [text.decode() for text in graph.decode(graph.tokenize(texts).to_tensor(-1)).numpy()]
    assert decode == texts


@pytest.mark.integration
def test_long_words_are_unknown_and_cost_little(tokenizer, graph, mismatches):
    texts = [letter * 10_000 for letter in "abß中"] + ["\u0301\u0316" * 5_000, "[MASK]" * 2_000, "a" * 10_000 + " b"]
    assert not mismatches(tokenizer, graph, texts, max_length=512)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("options", list(product([True, False], [None, True, False], [True, False])), ids=str)
def test_real_vocabulary(data_dir, mismatches, options):
    tokenizer = Tokenizer.from_vocab(data_dir / "bert_vocab" / "vocab.txt", *options)
    assert not count_mismatches(tokenizer, mismatches, seed=str(options), rows=400)


@pytest.mark.data
@pytest.mark.slow
def test_real_bytes(gpt2, mismatches):
    assert not count_mismatches(gpt2, mismatches, seed=2, rows=4_000, typed=GPT2_TYPED)
